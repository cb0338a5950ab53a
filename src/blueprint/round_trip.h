#pragma once
// Tries the functions between a blueprint's versions, without a cluster: objects go to the version in which
// the operator reads them and back, and the other way round, and have to come back as they were. The API
// server converts an object whenever a client reads or writes it in another version than the stored one, so
// what a round trip loses is lost at the next write. One thread.

#include <optional>
#include <string>
#include <vector>

#include "blueprint/evaluator.h"

namespace mist::blueprint {

/// A custom resource that its author wrote, with a name for people: "instance.yaml".
struct Example {
  std::string name;
  Value object;
};

/// A field that isn't after a round trip what it was before. nullopt: it is absent.
struct FieldChange {
  std::string path;  ///< "spec.replicas", "spec.sources[0].name", "metadata.annotations[\"example.com/a\"]"
  std::optional<Value> before = {}, after = {};
  std::string object = {};  ///< that showed it: "the defaults", "a sample with every field", "instance.yaml"
};

/// Why an object can't be converted: a function fails, or the contract of the version refuses its result.
struct ConversionFailure {
  std::string from, to;
  std::string object;  ///< as of FieldChange
  Value parts;         ///< of the object in the version `from`
  Error error;
};

/// From one version over another one and back.
struct RoundTrip {
  std::string version, over;
  std::vector<std::string> objects = {};  ///< that came back: names, as of FieldChange
  std::vector<FieldChange> changes = {};  ///< each path once
};

struct RoundTrips {
  std::vector<RoundTrip> trips;
  std::vector<ConversionFailure> failures;  ///< of each pair of versions the first
  std::vector<SchemaNote> untried;          ///< fields without a sample; objects that break their contract
};

/// Of each version with functions. The objects: the defaults of the contract, samples with every field, of
/// which each word of an enum is in one, and those of `examples` that are of the kind. Errors: of the
/// context, and of what has nothing to do with the blueprint.
Result<RoundTrips> try_round_trips(const Blueprint& blueprint, const Evaluator& evaluator,
                                   const std::vector<Example>& examples, const Context& context);

/// The differences between the parts (convertible_parts()) of an object before and after. Empty
/// lists and records count as absent, as in Kubernetes' own comparison (apimachinery, equality.Semantic),
/// numbers by their value, and an annotation more is no change: a function may keep something there.
std::vector<FieldChange> changes_between(const Value& before, const Value& after);

}  // namespace mist::blueprint
