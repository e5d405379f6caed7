"""The fields of documents, a module for each kind: pydantic checks them, and JSON Schemas are made from them."""
