"""`flightdeck plan`, `sweep` and `standalone`: many flights, in processes or on a Spark cluster."""
