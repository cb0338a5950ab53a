#pragma once
// mistletoe-contracts.ncl: contracts that tell what they ask, so that a schema can be made from them. Part of
// what mistletoe.ncl gives its authors; the engine knows how they answer
// (engines/rust/nickel/src/contracts.rs).

#include <string_view>

namespace mist::blueprint {

inline constexpr std::string_view kContractsLibrary = R"ncl(
# Each contract here does two things: it checks a value, and, applied to the probe, it answers with a schema that asks the
# same. docs/operator.md lists them.
let probe = "mistletoe.dev/what-do-you-say" in
# Applied to this, each contract here fails with the same words. Another contract that passes on an answer to the probe,
# and accepts more than the contract that it has it from, fails with its own.
let refusal = "mistletoe.dev/refuse" in
let answering = fun answer check =>
  std.contract.custom
    (
      fun label value =>
        if std.is_string value && value == probe then
          'Ok answer
        else if std.is_string value && value == refusal then
          'Error { message = "mistletoe.dev/refused" }
        else
          check label value
    )
in
# Unless `sound` comes to true, the contract itself is wrong, and `fault` says how.
let Sound = fun sound fault schema holds explanation =>
  answering
    { "mistletoe.dev/schema" = schema, "mistletoe.dev/sound" = sound, "mistletoe.dev/fault" = fault }
    (fun _label value => if holds value then 'Ok value else 'Error { message = explanation })
in
let Saying = Sound true "" in
let number = fun holds value => std.is_number value && holds value in
let text = fun holds value => std.is_string value && holds value in
let list = fun holds value => std.is_array value && holds value in
let record = fun holds value => std.is_record value && holds value in
# Kubernetes counts code points, and finds a match anywhere. Nickel counts what people see as one character, and finds no
# match that begins or ends within such: a match of the whole text has neither. Longer texts would make too large an
# expression, so there its own count has to do.
let longest_counted = 1000 in
let has_length = fun least most value =>
  if least > longest_counted || most > longest_counted then
    let length = std.string.length value in
    length >= least && (most < 0 || length <= most)
  else
    std.string.is_match "(?s)^.{%{std.to_string least},%{if most < 0 then "" else std.to_string most}}$" value
in
# A pattern as Go's regexp reads it: its classes are those of ASCII. An escaped backslash begins no class.
let as_in_go = fun pattern =>
  pattern
  |> std.string.split "\\\\"
  |> std.array.map
    (fun part =>
      part
      |> std.string.replace "\\d" "[0-9]"
      |> std.string.replace "\\D" "[^0-9]"
      |> std.string.replace "\\w" "[0-9A-Za-z_]"
      |> std.string.replace "\\W" "[^0-9A-Za-z_]"
      |> std.string.replace "\\s" "[\\t\\n\\f\\r ]"
      |> std.string.replace "\\S" "[^\\t\\n\\f\\r ]")
  |> std.string.join "\\\\"
in
let matches = fun pattern =>
  let is_match = std.string.is_match "(?s:^.*?)(?:%{as_in_go pattern})(?s:.*$)" in
  text is_match
in
let differ = fun values =>
  let keys = std.array.map (fun each => std.serialize 'Json each) values in
  let seen =
    std.array.fold_left
      (fun seen key => if std.record.has_field key seen then seen else std.record.insert key true seen)
      {}
      keys
  in
  std.array.length (std.record.fields seen) == std.array.length keys
in
let quantity = m%"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"% in
let duration = m%"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"% in
let is_integer = number std.number.is_integer in
# The API server takes no line break in the message of a rule.
let on_one_line = fun words => words |> std.string.replace_regex m%"\s*[\r\n]+\s*"% " " |> std.string.trim in
let plain = std.to_string in
{
  Int | doc "A whole number" = Saying { type = "integer" } is_integer "must be an integer",
  Min
    | doc "A number that is at least this"
    = fun least =>
      Saying { type = "number", minimum = least } (number (fun value => value >= least)) "must be at least %{plain least}",
  Max
    | doc "A number that is at most this"
    = fun most =>
      Saying { type = "number", maximum = most } (number (fun value => value <= most)) "must be at most %{plain most}",
  Above
    | doc "A number that is greater than this"
    = fun bound =>
      Saying
        { type = "number", minimum = bound, exclusiveMinimum = true }
        (number (fun value => value > bound))
        "must be greater than %{plain bound}",
  Below
    | doc "A number that is less than this"
    = fun bound =>
      Saying
        { type = "number", maximum = bound, exclusiveMaximum = true }
        (number (fun value => value < bound))
        "must be less than %{plain bound}",
  MultipleOf
    | doc "A number that this divides"
    = fun step =>
      Saying
        { type = "number", multipleOf = step }
        (number (fun value => value % step == 0))
        "must be a multiple of %{plain step}",
  Enum
    | doc "One of these texts"
    = fun words =>
      Sound
        (std.array.all std.is_string words)
        "Enum takes a list of texts, and something in its list is none"
        { type = "string", enum = words }
        (text (fun value => std.array.elem value words))
        "must be one of %{std.string.join ", " words}",
  Pattern
    | doc "A text in which this regular expression is found: begin it with ^ and end it with $ for the whole text"
    = fun pattern =>
      Sound
        (std.is_bool (matches pattern ""))
        "its pattern is no regular expression that Nickel and the API server know: %{pattern}"
        { type = "string", include pattern }
        (matches pattern)
        "must match %{pattern}",
  MinLength
    | doc "A text of at least so many characters"
    = fun least =>
      Saying
        { type = "string", minLength = least }
        (text (has_length least (-1)))
        "must have at least %{plain least} characters",
  MaxLength
    | doc "A text of at most so many characters"
    = fun most =>
      Saying
        { type = "string", maxLength = most }
        (text (has_length 0 most))
        "must have at most %{plain most} characters",
  MinItems
    | doc "A list of at least so many items"
    = fun least =>
      Saying
        { type = "array", minItems = least }
        (list (fun value => std.array.length value >= least))
        "must have at least %{plain least} items",
  MaxItems
    | doc "A list of at most so many items"
    = fun most =>
      Saying
        { type = "array", maxItems = most }
        (list (fun value => std.array.length value <= most))
        "must have at most %{plain most} items",
  Unique
    | doc "A list of texts, numbers or booleans in which nothing stands twice; appliers own its items one by one"
    = Saying { type = "array", "x-kubernetes-list-type" = "set" } (list differ) "must not have an item twice",
  KeyedBy
    | doc "A list of records that differ in these fields; appliers own its items one by one"
    = fun keys =>
      let key_of = fun item => std.array.map (fun key => std.record.get_or key null item) keys in
      Saying
        { type = "array", "x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = keys }
        (list (fun value => std.array.all std.is_record value && differ (std.array.map key_of value)))
        "must not have two items with the same %{std.string.join ", " keys}",
  MinFields
    | doc "A map of at least so many fields"
    = fun least =>
      Saying
        { type = "object", minProperties = least }
        (record (fun value => std.array.length (std.record.fields value) >= least))
        "must have at least %{plain least} fields",
  MaxFields
    | doc "A map of at most so many fields"
    = fun most =>
      Saying
        { type = "object", maxProperties = most }
        (record (fun value => std.array.length (std.record.fields value) <= most))
        "must have at most %{plain most} fields",
  Nullable
    | doc "null, or what the contract asks"
    = fun Contract =>
      answering
        { "mistletoe.dev/schema" = { nullable = true }, "mistletoe.dev/of" | Contract }
        (fun label value => if value == null then 'Ok value else std.contract.check Contract label value),
  IntOrString
    | doc "A whole number, or a text"
    = Saying
      { "x-kubernetes-int-or-string" = true }
      (fun value => std.is_string value || is_integer value)
      "must be an integer or a string",
  Quantity
    | doc "A quantity of Kubernetes: 2, 500m, 1.5Gi"
    = Saying
      { "x-kubernetes-int-or-string" = true, pattern = quantity }
      (fun value => matches quantity value || is_integer value)
      "must be a quantity, as 2, 500m or 1.5Gi are",
  Duration
    | doc "A duration as Go writes it: 30s, 1h30m"
    = Saying { type = "string", pattern = duration } (matches duration) "must be a duration, as 30s or 1h30m are",
  Rule
    | doc "A rule of CEL for the CRD, and a function that says the same: { cel, message, holds }"
    = fun asked =>
      let message_of = on_one_line (std.record.get_or "message" "" asked) in
      let explanation = if message_of == "" then "must meet the rule %{on_one_line asked.cel}" else message_of in
      # An argument called rule would be hidden by the field: fields of a record see one another.
      let schema = { "x-kubernetes-validations" = [{ rule = asked.cel, message = explanation }] } in
      if std.record.has_field "holds" asked then
        Saying schema asked.holds explanation
      else
        answering
          { "mistletoe.dev/schema" = schema, "mistletoe.dev/beyond" = "the CEL rule %{asked.cel}" }
          (fun _label value => 'Ok value),
  Unchanged
    | doc "Can't be changed once it is set. Only the CRD can see to that"
    = answering
      {
        "mistletoe.dev/schema" = { "x-kubernetes-validations" = [{ rule = "self == oldSelf", message = "can't be changed" }] },
        "mistletoe.dev/beyond" = "that it can't be changed",
      }
      (fun _label value => 'Ok value),
}
)ncl";

}  // namespace mist::blueprint
