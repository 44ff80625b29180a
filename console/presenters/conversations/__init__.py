"""The place of a conversation: requests and answers between processes, as far as the event log has them."""
