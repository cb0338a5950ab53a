#pragma once
// mistletoe.ncl: what the authors of blueprints import, and what the operator calls.

#include <string_view>

namespace mist::blueprint {

inline constexpr std::string_view kLibrary = R"ncl(
# The library for blueprints: contracts, and what the operator evaluates. docs/operator.md explains it.
let TheAlsoEdge = {
  from | String | doc "The node, or \"instance\", because of which the other one is wanted",
  to | String,
  when
    | String
    | doc "A path in the instance: the edge holds while that is set, and not to false"
    | optional,
  given
    | String
    | doc "A value node: the edge holds while its value is set, and not to false. Unknown adds and removes nothing"
    | optional,
}
in
let TheSequenceEdge = {
  from | String,
  to | String,
  until
    | std.enum.TagOrString
    | [| 'present, 'ready, 'gone, 'terminating, 'done |]
    | doc "How the first node must be before anything is written to the second; what is usual for its type"
    | optional,
  shape | doc "A contract that the object of the first node must match too" | optional,
  gate
    | std.enum.TagOrString
    | [| 'latched, 'continuous, 'soft |]
    | doc "Whether repairs wait too ('continuous), or nothing does ('soft)"
    | default
    = 'latched,
  teardown
    | std.enum.TagOrString
    | [| 'reverse, 'none |]
    | doc "Whether the second node is gone before the first is deleted"
    | default
    = 'reverse,
  extract
    | { _ : Dyn }
    | doc "Values for the second node's function: a name, and where it stands in the first node's object: a path, or { path, default }"
    | default
    = {},
}
in
let TheNode = {
  own
    | doc "Makes the object, or a list of objects: a function of { instance, … and what edges extract }"
    | optional,
  read
    | doc "The object that is looked at: a function of the same, which gives apiVersion, kind and metadata"
    | optional,
  list
    | doc "The objects that are looked at: a function that gives apiVersion, kind, perhaps namespace, labels and selector"
    | optional,
  value | doc "Computes a value: a function of the same" | optional,
  absent | doc "The object that must be gone: a function that gives apiVersion, kind and metadata" | optional,
  act | doc "Makes a Job that has to succeed once for each input: a function of the same" | optional,
  http
    | doc "Asks a Service or Pod of the instance's namespace: a function that gives service or pod, port, path, interval; JSON comes back"
    | optional,
  package
    | doc "Installs a package as a release: a function that gives package, and perhaps name, namespace, values and other fields of a Release"
    | optional,
  status
    | { _ : Dyn }
    | doc "Values for the status of the instance: a name, and where it stands in what the node makes or sees: a path, or { path, default }"
    | default
    = {},
  ready | doc "A contract: the node is ready when its object matches" | optional,
  policy
    | std.enum.TagOrString
    | [| 'delete, 'orphan, 'retain |]
    | doc "What becomes of the object when nothing wants it any more"
    | default
    = 'delete,
  adopt | Bool | doc "Takes over an object that is there and belongs to nobody" | default = false,
  force | Bool | doc "Takes back fields that others have changed" | default = false,
  replace | Bool | doc "Deletes the object and recreates it where it can't be changed" | default = false,
  teardown
    | Bool
    | doc "Of an act: it runs when the instance is deleted, before what it comes after is deleted"
    | default
    = false,
  evidence
    | String
    | doc "Of a state of an object: the value node that says whether this state was reached"
    | optional,
}
in
# What the function of a package node gives: the spec of a Release, and what its metadata needs.
let ThePackage = {
  package
    | String
    | doc "As mistctl's -p: a package of a registry of the operator, oci:// or git+https://",
  name | String | doc "Of the Release; otherwise that of the instance, a hyphen, and that of the node" | optional,
  namespace | String | doc "Of the Release; otherwise that of the instance" | optional,
  labels | { _ : String } | optional,
  annotations | { _ : String } | optional,
  values | { _ : Dyn } | doc "Over those of valuesFrom" | optional,
  valuesFrom | Array { _ : Dyn } | doc "ConfigMaps and Secrets with values" | optional,
  dependsOn | Array { _ : Dyn } | doc "Other Releases that have to be ready first" | optional,
  engine | String | optional,
  releaseName | String | optional,
  targetNamespace | String | optional,
  createNamespace | Bool | optional,
  serviceAccountName
    | String
    | doc "Of the namespace of the Release; there it is the blueprint's where that is the same namespace"
    | optional,
  interval | String | optional,
  timeout | String | optional,
  wait | Bool | optional,
  drift | std.enum.TagOrString | [| 'Warn, 'Fix, 'Ignore |] | optional,
  onDelete | std.enum.TagOrString | [| 'Uninstall, 'Keep |] | optional,
  prune
    | {
      customResourceDefinitions | Bool | optional,
      persistentVolumeClaims | Bool | optional,
      namespaces | Bool | optional,
    }
    | optional,
  adopt | Bool | optional,
  replace | Bool | optional,
  forceConflicts | Bool | optional,
  allowLookup | Array String | optional,
  allowLookupSecrets | Array String | optional,
  retries | Number | optional,
  rollback | Bool | optional,
  historyLimit | Number | optional,
  suspend | Bool | optional,
}
in
let TheVersion = {
  spec | doc "A contract for the spec of instances" | optional,
  status | doc "A contract for what values and HTTP nodes write to the status" | optional,
  served | Bool | doc "Whether clients can ask for it" | default = true,
  deprecated
    | String
    | doc "A warning for clients that ask for it"
    | optional,
  to_hub
    | doc "Makes what the kind's own version has of what this one has: a function of spec, status, labels, annotations, name, namespace"
    | optional,
  from_hub | doc "The other way" | optional,
}
in
# The result of such a function: fields that it leaves out stay as they are.
let TheConverted = {
  spec | { _ : Dyn } | optional,
  status | { _ : Dyn } | optional,
  labels | { _ : String } | optional,
  annotations | { _ : String } | optional,
}
in
let TheKind = {
  group | String,
  version | String | doc "The version in which the operator reads instances",
  kind | String,
  crd
    | std.enum.TagOrString
    | [| 'manage, 'await, 'publish |]
    | doc "The CRD: the operator applies it, waits for it, or writes it into a ConfigMap for a person to apply. Without it, it has to be there"
    | optional,
  spec | doc "A contract for the spec of instances" | optional,
  status | doc "A contract for the status, without its conditions" | optional,
  versions | { _ : TheVersion } | doc "Other versions, by name" | default = {},
  stored | String | doc "The version in which objects are stored; without it, that of version" | optional,
  plural | String | optional,
  singular | String | optional,
  short_names | Array String | default = [],
  categories | Array String | default = [],
  columns
    | Array { name | String, path | String, type | String | default = "string", wide | Bool | default = false }
    | doc "Further columns of kubectl get"
    | default
    = [],
  adopt | Bool | doc "Takes over a CRD that is there and that no blueprint manages" | default = false,
}
in
let TheBlueprint = {
  kind | doc "Whose instances are the roots of the graph" | TheKind,
  nodes | { _ : TheNode },
  also | Array TheAlsoEdge | default = [],
  sequence | Array TheSequenceEdge | default = [],
  progress_deadline
    | String
    | doc "How long an instance may take to become ready (10m) before its condition Stalled is true; without it, as long as it likes"
    | optional,
}
in
let types = ["own", "read", "list", "value", "absent", "act", "http", "package"] in
let type_of = fun name node =>
  let found = std.array.filter (fun each => std.record.has_field each node) types in
  if std.array.length found == 1 then
    std.array.first found
  else if std.array.length found == 0 then
    std.fail_with "the node %{name} has none of %{std.string.join ", " types}"
  else
    std.fail_with "the node %{name} is several things at once: %{std.string.join ", " found}"
in
let described = fun name node =>
  {
    type = type_of name node,
    contract = std.record.has_field "ready" node,
    policy = node.policy,
    adopt = node.adopt,
    force = node.force,
    replace = node.replace,
    teardown = node.teardown,
    status = node.status,
  }
  & (if std.record.has_field "evidence" node then { evidence = node.evidence } else {})
in
let versions_of = fun kind =>
  kind.versions
  & {
    "%{kind.version}" =
      (if std.record.has_field "spec" kind then { spec = kind.spec } else {})
      & (if std.record.has_field "status" kind then { status = kind.status } else {})
      & { served = true },
  }
in
let kind_described = fun told =>
  {
    group = told.group,
    version = told.version,
    kind = told.kind,
    has_spec = std.record.has_field "spec" told,
    has_status = std.record.has_field "status" told,
  }
  & (
    if std.record.has_field "crd" told then
      {
        crd =
          {
            mode = told.crd,
            short_names = told.short_names,
            categories = told.categories,
            columns = told.columns,
            adopt = told.adopt,
            stored = if std.record.has_field "stored" told then told.stored else told.version,
            versions =
              std.record.map
                (fun _name version =>
                  {
                    served = version.served,
                    to_hub = std.record.has_field "to_hub" version,
                    from_hub = std.record.has_field "from_hub" version,
                  }
                  & (
                    if std.record.has_field "deprecated" version then
                      { deprecated = version.deprecated }
                    else
                      {}
                  ))
                (versions_of told),
          }
          & (if std.record.has_field "plural" told then { plural = told.plural } else {})
          & (if std.record.has_field "singular" told then { singular = told.singular } else {}),
      }
    else
      {}
  )
in
# Each as the only contract of a field: from there the engine can describe it.
let contracts_of = fun kind =>
  versions_of kind
  |> std.record.to_array
  |> std.array.flat_map
    (fun version =>
      ["spec", "status"]
      |> std.array.filter (fun part => std.record.has_field part version.value)
      |> std.array.map
        (fun part =>
          let Contract = version.value."%{part}" in
          { "%{part}/%{version.field}" | Contract }))
  |> std.array.fold_left (fun all each => all & each) {}
in
let at_path = fun path value =>
  std.array.fold_left
    (fun at step => if std.is_number step then std.array.at step at else at."%{step}")
    value
    path
in
let edge_described = fun edge =>
  {
    from = edge.from,
    to = edge.to,
    contract = std.record.has_field "shape" edge,
    gate = edge.gate,
    teardown = edge.teardown,
    extract = edge.extract,
  }
  & (if std.record.has_field "until" edge then { until = edge.until } else {})
in
# What a function is given that isn't known: evaluating it fails at a place of its own (the evaluator knows it).
let unknown = import "mistletoe-unknown.ncl" in
let environment_of = fun input =>
  if std.record.has_field "unknown" input then
    let missing = std.array.map (fun name => { field = name, value = unknown }) input.unknown in
    input.environment & (std.record.from_array missing)
  else
    input.environment
in
# The fields with these names that a record has.
let part_of = fun names record =>
  names
  |> std.array.filter (fun name => std.record.has_field name record)
  |> std.array.map (fun name => { field = name, value = record."%{name}" })
  |> std.record.from_array
in
# The Release that a package node's function asks for.
let release_of = fun node environment told =>
  let of_metadata = ["name", "namespace", "labels", "annotations"] in
  let given = part_of of_metadata told in
  let named = fun name otherwise => if std.record.has_field name given then {} else otherwise in
  {
    apiVersion = "mistletoe.dev/v1alpha1",
    kind = "Release",
    metadata =
      given
      & named "name" { name = "%{environment.instance.metadata.name}-%{node}" }
      & named "namespace" (part_of ["namespace"] environment.instance.metadata),
    spec = part_of (std.array.filter (fun name => !(std.array.elem name of_metadata)) (std.record.fields told)) told,
  }
in
# What a function gives, held against what its type asks.
let given_by = fun checked input environment =>
  let node = checked.nodes."%{input.node}" in
  let kind = type_of input.node node in
  let made = node."%{kind}" environment in
  if kind == "package" then made | ThePackage else made
in
let called = fun checked input =>
  let environment = environment_of input in
  let given = given_by checked input environment in
  if std.record.has_field "package" checked.nodes."%{input.node}" then
    release_of input.node environment given
  else
    given
in
let contract_of = fun checked input =>
  if std.record.has_field "spec" input then
    checked.kind.spec
  else if std.record.has_field "status" input then
    checked.kind.status
  else if std.record.has_field "edge" input then
    (std.array.at input.edge checked.sequence).shape
  else
    checked.nodes."%{input.node}".ready
in
let identity_of = fun made =>
  {
    apiVersion = made.apiVersion,
    kind = made.kind,
    metadata =
      { name = made.metadata.name }
      & (if std.record.has_field "namespace" made.metadata then { namespace = made.metadata.namespace } else {}),
  }
in
# As std.deep_seq, which panics in Nickel 0.18 on a record with nothing but optional fields that have no value.
let rec forced = fun value =>
  if std.is_record value then
    std.array.fold_left (fun done each => std.seq (forced each.value) done) true (std.record.to_array value)
  else if std.is_array value then
    std.array.fold_left (fun done each => std.seq (forced each) done) true value
  else
    std.seq value true
in
# Parts of an object, in that version of the kind: its contract gives the spec its defaults, and takes a status
# in which values are missing.
let held_as = fun kind name object =>
  let version = (versions_of kind)."%{name}" in
  object
  |> std.record.map
    (fun part value =>
      if !(std.array.elem part ["spec", "status"]) || !(std.record.has_field part version) then
        value
      else
        let Contract = version."%{part}" in
        let whole = value | Contract in
        if part == "spec" then
          whole
        else
          std.array.fold_left (fun done step => std.seq (forced (at_path [step] whole)) done) value (std.record.fields value))
in
# `direction`: the function of the version `name` that makes the object one of the version `target`. `held` is
# held_as, or takes the object as it is.
let stepped = fun kind held name direction target object =>
  let version = kind.versions."%{name}" in
  let given =
    if std.record.has_field direction version then (version."%{direction}" object) | TheConverted else {}
  in
  object
  |> std.record.map (fun part value => if std.record.has_field part given then given."%{part}" else value)
  |> held kind target
in
let converted = fun kind input =>
  let held = if input.partial then fun _kind _name object => object else held_as in
  let at_hub =
    if input.from == kind.version then
      input.object
    else
      stepped kind held input.from "to_hub" kind.version input.object
  in
  if input.to == kind.version then at_hub else stepped kind held input.to "from_hub" input.to at_hub
in
let kind_of = fun made =>
  { apiVersion = made.apiVersion, kind = made.kind }
in
let role_refs_of = fun made =>
  if std.record.has_field "roleRef" made then [{ kind = made.roleRef.kind, name = made.roleRef.name }] else []
in
(import "mistletoe-contracts.ncl")
& {
  Blueprint = TheBlueprint,
  AlsoEdge = TheAlsoEdge,
  SequenceEdge = TheSequenceEdge,
  Node = TheNode,

  evaluate = fun blueprint =>
    let checked = blueprint | TheBlueprint in fun input =>
    let value =
      if std.record.has_field "contract_of" input then
        let Contract = contract_of checked input.contract_of in
        let place = at_path (std.record.get_or "at" [] input) (input.object | Contract) in
        if std.record.has_field "parts" input then
          std.array.fold_left (fun done step => std.seq (forced (at_path [step] place)) done) (std.seq place true) input.parts
        else
          forced place
      else if std.record.has_field "convert" input then
        converted checked.kind input.convert
      else if std.record.has_field "hold" input then
        held_as checked.kind input.hold.version input.hold.object
      else if std.record.has_field "try_contract_of" input then
        let Contract = contract_of checked input.try_contract_of in
        std.seq (unknown | Contract) true
      else if std.record.has_field "try" input then
        forced (given_by checked input.try (environment_of input.try))
      else if std.record.has_field "identities_of" input then
        let made = called checked input.identities_of in
        if std.is_array made then std.array.map identity_of made else [identity_of made]
      else if std.record.has_field "fields_of" input then
        std.record.fields (called checked input.fields_of)
      else if std.record.has_field "kinds_of" input then
        let made = called checked input.kinds_of in
        if std.is_array made then std.array.map kind_of made else [kind_of made]
      else if std.record.has_field "role_refs_of" input then
        let made = called checked input.role_refs_of in
        if std.is_array made then std.array.flat_map role_refs_of made else role_refs_of made
      else if std.record.has_field "node" input then
        called checked input
      else
        {
          kind = kind_described checked.kind,
          nodes = std.record.map described checked.nodes,
          also = checked.also,
          sequence = std.array.map edge_described checked.sequence,
        }
        & part_of ["progress_deadline"] checked
    in
    { apiVersion = "mistletoe.dev/v1", kind = "Evaluation", result = value }
    & (
      if std.record.has_field "describe" input then
        { contracts | not_exported = contracts_of checked.kind }
      else
        {}
    ),
}
)ncl";

/// The only thing that fails in that file, which says that a value was needed that isn't known.
inline constexpr std::string_view kUnknown = R"ncl(
0 + "a value that isn't known before there is an instance"
)ncl";

/// Calls it, with each input of a list.
inline constexpr std::string_view kMain = R"ncl(
let evaluated = (import "mistletoe.ncl").evaluate (import "blueprint.ncl") in
fun input =>
  if std.array.length input.calls == 1 then
    evaluated (std.array.first input.calls)
  else
    {
      apiVersion = "mistletoe.dev/v1",
      kind = "Evaluation",
      result = std.array.map (fun call => (evaluated call).result) input.calls,
    }
)ncl";

/// Evaluated once, where the engine prepares the blueprint's files: its record is then held against the
/// contracts.
inline constexpr std::string_view kEarly = R"ncl(
(import "main.ncl") { calls = [{}] }
)ncl";

}  // namespace mist::blueprint
