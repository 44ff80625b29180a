"""What each command would hit, predicted from the view alone: one predictor for each command."""
