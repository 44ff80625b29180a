"""The history of a group's ownership: which member owned each partition at which time, in bounded memory."""
