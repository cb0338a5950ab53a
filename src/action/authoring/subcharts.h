#pragma once
// The charts that a chart depends on, in its charts/: `mistctl dependency build`, `update` and `list`, with
// Helm's rules and Helm's lock (registry/chart_lock.h). charts/ is replaced as a whole, after everything was
// fetched and looked at. One thread.

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/context.h"
#include "base/event.h"
#include "base/fs.h"
#include "registry/subchart_source.h"

namespace mist::action {

struct SubchartDependencies {
  FileSystem& files;
  const Clock& clock;
  EventSink& events;
  registry::SubchartSource::Dependencies source;
};

struct SubchartReport {
  struct Chart {
    std::string name;
    std::string version;
    std::string repository;  ///< empty: it is in charts/ as a directory
    std::string file;        ///< in charts/
    bool written = false;    ///< it wasn't there with these bytes
  };
  std::vector<Chart> charts;         ///< in the order of Chart.yaml
  std::vector<std::string> removed;  ///< files of charts/ that nothing asks for any more
  Path lock_file;
  bool lock_written = false;
};

/// Chooses the newest versions that Chart.yaml allows, fetches them and writes the lock, if it says something
/// else. `chart` is the chart's directory. Errors: NotFound, Invalid (no chart, charts/ that can't be
/// replaced), of SubchartSource.
Result<SubchartReport> update_subcharts(const SubchartDependencies& dependencies, const Path& chart,
                                        const Context& context);
/// Fetches what the lock says; without a lock it updates. Invalid too when the lock isn't of this Chart.yaml.
Result<SubchartReport> build_subcharts(const SubchartDependencies& dependencies, const Path& chart,
                                       const Context& context);

struct SubchartList {
  struct Row {
    std::string name;
    std::string version;  ///< the range in Chart.yaml
    std::string repository;
    std::string status;  ///< "ok", "unpacked", "missing", "wrong version", …, as Helm says it
  };
  std::vector<Row> rows;
  std::vector<std::string> not_charts;  ///< entries of charts/ that are none
  std::vector<std::string> not_wanted;  ///< charts in charts/ that Chart.yaml doesn't name
};
/// Of a chart's directory or a packed chart. Errors: NotFound, Invalid.
Result<SubchartList> list_subcharts(const FileSystem& files, const Path& chart);

}  // namespace mist::action
