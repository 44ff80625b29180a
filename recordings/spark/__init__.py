"""Reports with Spark: the session, the tables, the analyses with their groundwork, the page."""
