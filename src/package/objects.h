#pragma once
// From the texts that a package rendered to Kubernetes objects that know their place. Pure; any thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "apimachinery/object.h"
#include "base/event.h"
#include "base/result.h"

namespace mist::package {

/// The lines that the files have: those of the package's own files, or lines that an engine made.
enum class Lines : std::uint8_t { Written, Rendered };

/// The origin of a rendered file.
struct FileOrigin {
  std::string source;  ///< a file of the package
  /// For each line of the rendered file the line in `source`, 0: unknown; empty: they are the same.
  std::vector<std::uint32_t> lines = {};
  /// RenderedObject::package; empty: the package itself.
  std::string package = {};
  /// Other files of the package that lines are from: for each line of the rendered file its line there, 0: it
  /// isn't from there. All lines of an object are of one file.
  std::map<std::string, std::vector<std::uint32_t>> others = {};
};
using FileOrigins = std::map<std::string, FileOrigin>;  ///< by the rendered file's path

/// Files in ascending order of their paths, documents in theirs; lists are flattened, empty documents
/// dropped, MistOrder documents (order_document.h) carried out. As the ecosystem does, a duplicate key warns
/// and the last one wins. Invalid, with file, line, column and the line's text: what can't be parsed, or is
/// no object with apiVersion, kind and name. Of a line that may belong to a Secret only the key is shown.
/// Lines of errors, objects and their values are those of `origins`; of a rendered file that isn't there they
/// are its own, and its name ends in kRenderedMark.
Result<std::vector<apimachinery::RenderedObject>> parse_objects(
    const std::map<std::string, std::string>& files, EventSink& events, Lines lines = Lines::Written,
    const FileOrigins& origins = {});

}  // namespace mist::package
