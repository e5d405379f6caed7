"""What a fault at random looks like: for one node of a syntax tree, everything that may stand there instead."""

import ast
from collections.abc import Iterator
from typing import Final

_COMPARED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_CALLED: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """Every single fault at this node, always in the same order; annotations are for the caller to leave out."""
    match node:
        case ast.Compare(ops=[only]) if type(only) in _COMPARED:
            yield ast.Compare(node.left, [_COMPARED[type(only)]()], node.comparators)
        case ast.BoolOp():
            yield from _other_word(node)
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int(number)):
            yield ast.Constant(1 if number == 0 else number - 1)
        case ast.BinOp():
            yield from _other_operator(node)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield ast.Call(ast.Name(_CALLED[name], ast.Load()), node.args, node.keywords)
        case ast.If() if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield from (ast.If(ast.Constant(value), node.body, node.orelse) for value in (False, True))
        case ast.IfExp():
            yield from (node.body, node.orelse)
        case ast.comprehension(ifs=[_, *_]):
            yield from (
                ast.comprehension(node.target, node.iter, [*node.ifs[:i], *node.ifs[i + 1 :]], node.is_async)
                for i in range(len(node.ifs))
            )
        case ast.For():
            yield ast.For(node.target, ast.Tuple([], ast.Load()), node.body, node.orelse)
        case ast.stmt():
            yield from _nothing(node)


def _other_word(node: ast.BoolOp) -> Iterator[ast.AST]:
    """``and`` for ``or``, and each operand left out."""
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for index in range(len(node.values)):
        rest = [*node.values[:index], *node.values[index + 1 :]]
        yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]


def _other_operator(node: ast.BinOp) -> Iterator[ast.AST]:
    """Another operator, and each operand alone where both are of one kind: sets, masks."""
    other = _COMPUTED.get(type(node.op))
    if other:
        yield ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.BitOr | ast.BitAnd):
        yield from (node.left, node.right)
    if isinstance(node.op, ast.Sub):
        yield node.left


def _nothing(node: ast.stmt) -> Iterator[ast.AST]:
    """The statement left out; ``assert_never`` stays, wrong types alone reach it."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Continue() | ast.Break() | ast.Raise() | ast.Return():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
