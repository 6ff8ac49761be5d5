"""Where our call belongs in somebody's manage.py: read as Python, nothing is run."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from donkey_aicc.errors import AiccError

TEMPLATES = "complete, basic, simulator, path_follow, cv_control"  # of `donkey createcar --template=...`
CAMERA = "cam/image_array"


@dataclass(frozen=True)
class InstallPlace:
    """Our call stands right before `statement`; `tub` are the names of the tub's channels and types, None without a tub."""

    statement: ast.stmt
    function: ast.FunctionDef
    vehicle: str
    settings: str
    tub: tuple[str, str] | None
    writer: ast.Assign | None  # the tub writer, which gets a guard of ours around it

    def code(self, call: str) -> str:
        """The line to write."""
        if self.tub is None:
            return f"aicc.{call}({self.vehicle}, {self.settings})"
        inputs, types = self.tub
        return f"{inputs}, {types} = aicc.{call}({self.vehicle}, {self.settings}, {inputs}, {types})"


def find_place(tree: ast.Module, name: str) -> InstallPlace:
    """In the function that makes the vehicle: before the tub, or before the start where nothing is recorded."""
    makers = [function for function in _functions(tree) if _found(function, _makes_vehicle) and _has_camera(function)]
    faults = [] if makers else ["no function makes a Vehicle() and adds a camera (add_camera, or outputs=['cam/image_array'])"]
    if len(makers) > 1:
        faults.append(f"{' and '.join(each.name for each in makers)} each make a vehicle with a camera")
    for function in makers[:1]:
        tubs = _found(function, lambda call: is_call(call, "TubWriter"))
        start = f"{_vehicle(function)}.start"
        starts = _found(function, lambda call, start=start: ast.unparse(call.func) == start)  # type: ignore[misc]
        if len(tubs) > 1:
            faults.append(f"TubWriter(...) appears {len(tubs)} times")
        elif tubs and not isinstance(tubs[0][0], ast.Assign):
            faults.append("the TubWriter has no name")
        elif tubs and not _tub_names(tubs[0][1]):
            faults.append("TubWriter(..., inputs=..., types=...) is missing: inputs and types must be names")
        elif not tubs and len(starts) != 1:
            faults.append(f"neither a TubWriter(...) nor exactly one start of the vehicle, but {len(starts)}")
        elif not function.args.args:
            faults.append(f"{function.name} takes no settings as its first argument")
        elif not faults:
            return _place(function, (tubs or starts)[0], bool(tubs))
    raise AiccError(
        f"{name} has no place for our parts: {'; '.join(faults)}. Nothing was changed. A car made by `donkey createcar` with "
        f"one of the templates {TEMPLATES} has one; docs/add_to_your_car.md says how to add the call by hand"
    )


def _place(function: ast.FunctionDef, found: tuple[ast.stmt, ast.Call], is_tub: bool) -> InstallPlace:
    statement, call = found
    names = _tub_names(call) if is_tub else None
    writer = statement if isinstance(statement, ast.Assign) and is_tub else None
    # A tub that is only sometimes made stands in an `if`; our parts belong there always, if the names are known before it.
    outer = next(each for each in function.body if each.lineno <= statement.lineno <= (each.end_lineno or each.lineno))
    if names is not None and all(_set_before(function, each, outer) for each in names):
        statement = outer
    return InstallPlace(statement, function, _vehicle(function), function.args.args[0].arg, names, writer)


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _found(function: ast.FunctionDef, fits: Callable[[ast.Call], bool]) -> list[tuple[ast.stmt, ast.Call]]:
    """Every fitting `f(...)` and `x = f(...)` statement, in the order of the lines."""
    found = [
        (node, node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call) and fits(node.value)
    ]
    return sorted(found, key=lambda each: each[0].lineno)


def _makes_vehicle(call: ast.Call) -> bool:
    return is_call(call, "Vehicle")


def _vehicle(function: ast.FunctionDef) -> str:
    """The name that the vehicle has in this function."""
    statement, _ = _found(function, _makes_vehicle)[0]
    return ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""


def _has_camera(function: ast.FunctionDef) -> bool:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any(is_call(call, "add_camera") or CAMERA in _texts(_keyword(call, "outputs")) for call in calls)


def _texts(node: ast.AST) -> Iterator[object]:
    return (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))


def _tub_names(call: ast.Call) -> tuple[str, str] | None:
    inputs, types = (_keyword(call, key) for key in ("inputs", "types"))
    return (inputs.id, types.id) if isinstance(inputs, ast.Name) and isinstance(types, ast.Name) else None


def _set_before(function: ast.FunctionDef, name: str, statement: ast.stmt) -> bool:
    """Whether a name surely has its value before a statement: assigned in the function's own body, not in a branch."""
    targets = [
        node.id
        for each in function.body
        if isinstance(each, ast.Assign) and each.lineno < statement.lineno
        for target in each.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    ]
    return name in targets


def is_call(call: ast.Call, function: str) -> bool:
    """Whether `function(...)` or `something.function(...)` is called."""
    return getattr(call.func, "id", getattr(call.func, "attr", None)) == function


def _keyword(call: ast.Call, key: str) -> ast.expr:
    return next((each.value for each in call.keywords if each.arg == key), ast.Constant(None))
