"""Where the user is and was, and where what is drawn leads: links, the history of places."""
