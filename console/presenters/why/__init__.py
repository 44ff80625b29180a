"""`why?`: a table of questions on anything that can be selected, answered from facts of the view."""
