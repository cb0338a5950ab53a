#include "render/wanted_release.h"

namespace mist::render {

using encoding::Value;

Value chosen_values(const std::optional<Value>& given, bool reuse, const release::Revision* stored) {
  if (given && !reuse) return *given;
  Value values =
      stored == nullptr || !stored->user_values.is_object() ? Value::object() : stored->user_values;
  if (given) encoding::merge_into(values, *given);
  return values;
}

Status WantedRelease::prepare(const Context& context) {
  if (!wanted_.package) return {};
  MIST_TRY(package::Source source, packages_->fetch(*wanted_.package, wanted_.engine, context));
  return take(std::move(source));
}

Status WantedRelease::take(package::Source source) {
  if (wanted_.values) {
    MIST_TRY(given_, values_for(source, *wanted_.values, events_));
  }
  source_ = std::make_shared<const package::Source>(std::move(source));
  return {};
}

Result<RenderedRelease> WantedRelease::render(const ReleaseFacts& release, const Context& context) {
  if (!source_) {
    if (release.stored == nullptr)
      return error(ErrorKind::Usage, "release {} has no package yet", release.id.display())
          .with_hint("name it with -p PACKAGE");
    const release::PackageInfo& package = release.stored->package;
    MIST_TRY(package::Source source,
             packages_->fetch_recorded(package, wanted_.engine.empty() ? package.engine : wanted_.engine,
                                       context));
    MIST_TRY_VOID(take(std::move(source)));
  }
  return renderer_.render(source_, chosen_values(given_, wanted_.reuse_values, release.stored),
                          wanted_.choices, release, context);
}

}  // namespace mist::render
