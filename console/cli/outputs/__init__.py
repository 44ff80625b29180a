"""The readable outputs of commands, a module for each; functions return text, and none prints."""
