#pragma once
// The demands of a package, read off the objects that it renders with its defaults: how its Pods are
// isolated, which rights its accounts get, what it does to the whole cluster, what it opens to the outside,
// which images it runs. Made by a worker, kept with the run, shown on the package's page. Pure; any thread.

#include <vector>

#include "catalog/markup.h"
#include "encoding/value.h"
#include "release/record.h"

namespace mist::catalog {

/// {level, workloads: [{object, level, because: [text]}], rights: [{object, text, broad}],
///  cluster: [{object, text}], exposed: [{object, text}], images: [{image, fixed}], leftOut: {list: count}},
/// each list sorted and of at most 200 items, each text of at most 500 bytes. Of longer lists those stay that
/// matter most, and `leftOut` has how many don't. `level` is that of Pod Security that a namespace needs for
/// it, absent without Pods.
encoding::Value security_report(const std::vector<release::RenderedObject>& objects);

/// As a section of a page; empty for what is no report.
Markup security_section(const encoding::Value& report);

}  // namespace mist::catalog
