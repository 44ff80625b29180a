"""The transaction coordinator: transactional ids, their states and their markers."""
