#include "render/wanted_release.h"

#include <fmt/format.h>

#include <utility>

#include "base/some_of.h"
#include "base/text.h"
#include "encoding/member_finder.h"
#include "package/value_places.h"
#include "registry/reference.h"
#include "render/answers.h"
#include "render/deployed_version.h"
#include "render/signers.h"

namespace mist::render {

using encoding::Value;

namespace {

constexpr std::size_t kMostNamed = 5;  // in a warning

void note_dropped(const Value& given, const Value& earlier, const std::string& prefix,
                  std::vector<std::string>& dropped) {
  const encoding::MemberFinder finder(&given);
  for (const Value::Member& member : earlier.as_object()) {
    const std::string path = prefix + escape_controls(member.key);
    const Value* now = finder.find(member.key);
    if (now == nullptr)
      dropped.push_back(path);
    else if (now->is_object() && member.value.is_object())
      note_dropped(*now, member.value, path + ".", dropped);
  }
}

}  // namespace

Value chosen_values(const std::optional<Value>& given, bool reuse, const release::Revision* stored) {
  if (given && !reuse) return *given;
  Value values =
      stored == nullptr || !stored->user_values.is_object() ? Value::object() : stored->user_values;
  if (given) encoding::merge_keeping_nulls(values, *given);
  return values;
}

std::string dropped_values(const Value& given, const Value& earlier) {
  std::vector<std::string> dropped;
  if (earlier.is_object()) note_dropped(given, earlier, "", dropped);
  return some_of(std::move(dropped), kMostNamed);
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
  } else if (release.deployed != nullptr) {
    MIST_TRY_VOID(check_signers_of(release.deployed->package));
  }
  if (given_ && !wanted_.reuse_values && release.stored != nullptr)
    MIST_TRY_VOID(warn_of_dropped(*release.stored));
  auto rendered = renderer_.render(source_, chosen_values(given_, wanted_.reuse_values, release.stored),
                                   wanted_.choices, release, context);
  if (!wanted_.values) return rendered;
  return package::with_value_places(std::move(rendered), *wanted_.values);
}

// Of a package that is named without its digest.
Status WantedRelease::check_signers_of(const release::PackageInfo& deployed) const {
  const Result<registry::PackageRef> named = registry::PackageRef::parse(wanted_.package.value_or(""));
  return named && !names_bytes(*named) ? check_signers(deployed, *source_) : Status();
}

// Values that are given replace all others, which surprises people who meant to change one.
Status WantedRelease::warn_of_dropped(const release::Revision& stored) {
  MIST_TRY(const Value kept, with_answers(*given_, &stored, *source_));
  const std::string names = dropped_values(kept, stored.user_values);
  if (names.empty() || std::exchange(warned_, true)) return {};
  events_.warn(fmt::format(
      "values that the release has and that are not given now: {}; --reuse-values keeps them", names));
  return {};
}

}  // namespace mist::render
