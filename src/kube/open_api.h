#pragma once
// The schemas that a server publishes of its kinds: OpenAPI v3 (KEP-2896), one document for each group
// version and an index with a hash of each. Documents are kept in files, reduced to what values can be
// compared with, and are asked for again when their hash changes. The index counts for ten minutes, as
// discovery does, so that a command that finds nothing wrong asks nothing. Any thread.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kube/discovery.h"

namespace mist::kube {

class OpenApi {
 public:
  using Dependencies = Discovery::Dependencies;

  OpenApi(Dependencies dependencies, const DiscoveryCache& cache);

  /// See Client::schemas_of().
  Result<std::shared_ptr<const Value>> schemas_of(const std::string& group, const std::string& version,
                                                  SchemaAge age, const Context& context);

 private:
  struct Index {
    std::map<std::string, std::string, std::less<>> hashes;  // "apis/apps/v1" → hash
    std::string etag;
    WallTime confirmed;  // when the server said that this is what it has
  };
  struct Document {
    std::string hash;
    std::string text;  // JSON of the schemas
  };

  Result<std::optional<std::string>> hash_of(const std::string& path, bool built_in, SchemaAge age,
                                             const Context& context);
  Result<Index> ask(const Context& context) const;
  std::optional<Index> read_index() const;
  void write_index() const;
  std::optional<std::string> kept(const std::string& path, const std::string& hash);
  Result<std::shared_ptr<const Value>> fetch(const std::string& path, const std::string& hash,
                                             const Context& context);
  Path file_of(std::string_view what) const;
  void write(const Path& file, const std::string& text) const;

  const Dependencies dependencies_;
  const DiscoveryCache cache_;
  std::mutex mutex_;
  std::optional<Index> index_;                           // guarded by mutex_, as all below
  std::map<std::string, Document, std::less<>> memory_;  // of clients that keep no files
};

}  // namespace mist::kube
