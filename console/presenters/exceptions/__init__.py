"""The exceptions of a cluster, worst first: conditions, their severities, the headline of every screen."""
