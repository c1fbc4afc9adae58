"""The pages, their code and their links."""
