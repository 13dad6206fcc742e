"""gitmem: reviewed Markdown memory for AI agents, kept in git."""

__version__ = "0.1.0"
