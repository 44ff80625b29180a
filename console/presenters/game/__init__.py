"""What the screens say of a game: the briefing while it is played, the debrief after it."""
