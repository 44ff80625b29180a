"""What an application does with records, beside the client that it reads with: outputs, processing time, failures."""
