"""What logs of real processes say of groups, where an event was read from them: the unknown stays unknown."""
