"""One definition for each value that this program writes as JSON: reader, writer, schema and the places of errors.

Built on plain closures: reading a plan of 150,000 steps is bound by this code, and pydantic would need a mirror class
for each value whose JSON is not its fields (``benchmarks/codecs.py``).
"""
