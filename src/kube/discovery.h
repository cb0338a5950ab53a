#pragma once
// Which kinds a cluster serves, and how. Asked by the aggregated API (KEP-3352: two requests, sent together),
// by the old one where the server has no other; kept for ten minutes, as kubectl does, in memory and in a
// file. An unknown kind makes it ask again. A kind that isn't compiled into the server may have been replaced
// by one of another scope or plural meanwhile, and a list of all kinds may lack one that is new: what is kept
// counts for these only if the server says, in an answer without a body, that nothing changed. Any thread;
// threads that come while it asks wait for the answer.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/event.h"
#include "base/fs.h"
#include "kube/api_catalog.h"
#include "kube/client.h"

namespace mist::kube {

/// Where the catalogue is kept between commands.
struct DiscoveryCache {
  Path directory;        ///< made when missing; empty: nothing is kept
  std::string identity;  ///< server and user: another identity has another file
};

class Discovery {
 public:
  struct Question {
    std::string path;
    std::string accept;
    std::string known = {};  ///< the ETag of what is known of it (If-None-Match); empty: nothing is
  };
  struct Answer {
    Value value = {};  ///< null: it is as known
    std::string etag = {};
  };
  struct Dependencies {
    /// GET: the decoded JSON of a 2xx answer, that nothing changed (304), or the error.
    std::function<Result<Answer>(const Question&, const Context&)> get;
    FileSystem& fs;
    const Clock& clock;
    EventSink& events;
    std::string kubectl = "kubectl";  ///< Client::kubectl()
  };

  Discovery(Dependencies dependencies, const DiscoveryCache& cache);

  /// NotFound (with the nearest kinds, or the versions there are) if the server doesn't serve it, after
  /// having asked the server again; api_down.h if an aggregated API that doesn't answer may serve it.
  Result<ResourceInfo> resource_for(const GroupKind& kind, const std::string& version,
                                    const Context& context);
  /// By kind, plural, singular or short name, optionally with .group.
  Result<ResourceInfo> resource_for_alias(std::string_view word, const Context& context);
  /// These three are as the server has it now, or had it some seconds ago.
  Result<std::vector<ResourceInfo>> all_resources(const Context& context);
  Result<ServedApis> served_apis(const Context& context);
  /// Each with its condition, which is a request.
  Result<std::vector<DownApi>> apis_down(const Context& context);
  /// The next question goes to the server.
  void invalidate();

 private:
  struct Asked {
    std::shared_ptr<const ApiCatalog> catalog;
    std::string etag;  // of /apis; empty: the server has none
    WallTime asked{};
  };
  struct Loaded {
    std::shared_ptr<const ApiCatalog> catalog;
    bool fresh = false;  // asked from the server in this very call
  };
  Result<Loaded> load(const Context& context, const ApiCatalog* outdated = nullptr);
  Result<Loaded> load_current(const Context& context);
  Result<Loaded> current(const Context& context);
  Result<Loaded> confirm(const Context& context);  // mutex_ is held, as for is_younger_than
  bool is_younger_than(Duration age) const;
  Result<Loaded> keep(Result<Asked> asked);
  Result<Asked> ask(const Context& context, std::optional<Answer> groups = {}) const;
  Result<Value> get(const std::string& path, const std::string& accept, const Context& context) const;
  Status ask_group_versions(const Value& core, const Value& groups, ApiCatalog& into,
                            const Context& context) const;
  std::optional<Asked> read_cache() const;
  void write_cache(const Asked& asked) const;
  std::string condition_of(const std::string& service, const Context& context) const;
  Error unknown(const GroupKind& kind, const std::string& version, const ApiCatalog& catalog,
                const Context& context) const;

  const Dependencies dependencies_;
  Path file_;  // empty: nothing is kept
  std::mutex mutex_;
  Asked known_;                        // guarded by mutex_, as all below
  std::optional<WallTime> confirmed_;  // when the server said that known_ is what it serves
  bool distrust_file_ = false;
};

}  // namespace mist::kube
