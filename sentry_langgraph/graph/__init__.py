"""LangGraph: messages to records, the gate, the nodes, the wiring."""
