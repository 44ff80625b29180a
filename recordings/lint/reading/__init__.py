"""From files to parts: properties, YAML of Spring, Quarkus and Strimzi, and scenarios, read without a traceback."""
