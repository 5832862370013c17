"""Checks manifests against Kubernetes' own schema: the models of Debian's python3-kubernetes, which are generated from
the API's OpenAPI description (release 1.22). Unknown fields, wrong types, missing fields and values outside of
enumerations are errors, as an API server with strict validation has them."""

import re

from kubernetes import client
from kubernetes.client import models

# The custom resource of Kubeflow's training operator, as far as its fields have other types than Kubernetes' own.
RESTARTS = {"Always", "OnFailure", "Never", "ExitCode"}
PYTORCH_FIELDS = {"runPolicy": dict, "elasticPolicy": dict, "pytorchReplicaSpecs": dict, "nprocPerNode": str}
SIMPLE = {"str": str, "int": int, "bool": bool, "float": (int, float), "datetime": str}
QUANTITIES = ("limits", "requests")  # the API reads numbers there too
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")  # a label of DNS (RFC 1123)


def check(document):
    """Where a document breaks the schema: ["spec.template: ...", ...]."""
    kind = (document.get("apiVersion"), document.get("kind"))
    name = document.get("metadata", {}).get("name", "")
    errors = [] if NAME.fullmatch(name) else [f"metadata.name: '{name}' is no name"]
    if kind == ("kubeflow.org/v1", "PyTorchJob"):
        return errors + check_pytorch_job(document.get("spec", {}))
    model_name = model_of(*kind)
    if not model_name:
        return errors + [f"no kind of the API: {kind}"]
    return errors + check_model(model_name, document, "")


def model_of(version, kind):
    """The model of a kind that the group and version of the API can create; empty if it has none such."""
    group, _, number = str(version).rpartition("/")
    words = (group.removesuffix(".k8s.io") or "core").split(".")
    api = getattr(client, "".join(map(str.capitalize, words)) + number.capitalize() + "Api", None)
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", str(kind)).lower()
    creates = hasattr(api, f"create_namespaced_{name}") or hasattr(api, f"create_{name}")
    return number.capitalize() + kind if creates else ""


def check_pytorch_job(spec):
    errors = [f"spec.{name}: unknown" for name in spec if name not in PYTORCH_FIELDS]
    errors += [f"spec.{name}: {value!r} is no {PYTORCH_FIELDS[name].__name__}" for name, value in spec.items()
               if name in PYTORCH_FIELDS and not isinstance(value, PYTORCH_FIELDS[name])]
    for role, each in spec.get("pytorchReplicaSpecs", {}).items():
        place = f"spec.pytorchReplicaSpecs.{role}"
        errors += [f"{place}.{name}: unknown" for name in each if name not in ("replicas", "restartPolicy", "template")]
        if not isinstance(each.get("replicas"), int) or each.get("restartPolicy") not in RESTARTS:
            errors.append(f"{place}: replicas is no number, or restartPolicy not of {sorted(RESTARTS)}")
        errors += check_model("V1PodTemplateSpec", each.get("template"), f"{place}.template")
    return errors


def check_model(model_name, value, place):
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is no {model_name}"]
    model = getattr(models, model_name)
    attributes = {key: attribute for attribute, key in model.attribute_map.items()}
    errors, given = [], {}
    for key, each in value.items():
        where = f"{place}.{key}".lstrip(".")
        if key not in attributes:
            errors.append(f"{where}: unknown in {model_name}")
            continue
        given[attributes[key]] = each
        errors += check_value(model.openapi_types[attributes[key]], each, where)
    try:
        model(**given)  # what must be there, and enumerations
    except ValueError as failure:
        errors.append(f"{place}: {failure}")
    if model_name == "V1PodSpec":
        errors += check_references(value, place)
    return errors


def check_value(kind, value, place):
    container, _, inner = re.fullmatch(r"(list|dict)?([\[(]str, |[\[(])?(.*?)[\])]?", kind).groups()
    if container == "list":
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no list"]
        return [error for number, each in enumerate(value) for error in check_value(inner, each, f"{place}[{number}]")]
    if container == "dict":
        if not isinstance(value, dict):
            return [f"{place}: {value!r} is no mapping"]
        number_too = place.rsplit(".", 1)[-1] in QUANTITIES
        return [error for key, each in value.items() if not (number_too and type(each) is int)
                for error in check_value(inner, each, f"{place}.{key}")]
    if inner == "object":  # any value, as numbers or names of ports
        return []
    if inner in SIMPLE:
        fits = isinstance(value, SIMPLE[inner]) and (inner == "bool") == isinstance(value, bool)
        return [] if fits else [f"{place}: {value!r} is no {inner}"]
    return check_model(inner, value, place)


def check_references(pod, place):
    """What the schema does not say and a server refuses all the same."""
    volumes = {each.get("name") for each in pod.get("volumes", [])}
    errors = []
    for container in pod.get("containers", []):
        for mount in container.get("volumeMounts", []):
            if mount.get("name") not in volumes:
                errors.append(f"{place}.containers: no volume is called {mount.get('name')!r}")
        names = [each.get("name") for each in container.get("env", [])]
        errors += [f"{place}.containers: {name} is set twice" for name in set(names) if names.count(name) > 1]
    return errors
