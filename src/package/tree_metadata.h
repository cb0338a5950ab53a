#pragma once
// The metadata of a directory, read without running an engine: mistletoe.yaml, else Chart.yaml. Pure; any
// thread.

#include "base/result.h"
#include "package/engine.h"
#include "package/metadata.h"

namespace mist::package {

/// Files by which a chart and KPM's packages are known.
inline constexpr std::string_view kChartFile = "Chart.yaml";
inline constexpr std::string_view kValuesFile = "values.yaml";
inline constexpr std::string_view kSchemaFile = "values.schema.json";
inline constexpr std::string_view kKpmFile = "K3.yaml";

/// The MistPackage document in mistletoe.yaml; nothing if there is no such file, or it is another document
/// (of Kubernetes). Invalid, naming the file and line.
Result<std::optional<Metadata>> declared_metadata(const Files& files);

/// The metadata of a directory that `engine` renders (null: none). `name` and `version` are what it is called
/// where it says nothing. Invalid, naming the file and line; of a chart that is left to its engine.
Result<Metadata> tree_metadata(const Files& files, const EngineKind* engine, std::string_view name,
                               std::string_view version);

}  // namespace mist::package
