"""The user interface: the command line and the terminal console."""
