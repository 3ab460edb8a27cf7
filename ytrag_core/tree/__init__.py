"""Entity vectors to communities, keywords and names."""
