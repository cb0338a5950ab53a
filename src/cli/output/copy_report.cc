#include "cli/output/copy_report.h"

namespace mist::cli {

using encoding::Value;

Value copy_report_value(const registry::CopyReport& report) {
  return Value::object({{"from", report.from.str()},
                        {"reference", report.to.str()},
                        {"digest", report.to.digest->str()},
                        {"wasThere", report.was_there},
                        {"manifests", report.manifests},
                        {"referrers", report.referrers},
                        {"blobs", report.blobs},
                        {"mounted", report.mounted},
                        {"bytes", report.bytes}});
}

}  // namespace mist::cli
