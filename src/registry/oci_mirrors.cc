#include "registry/oci_mirrors.h"

#include <algorithm>

#include "base/duration.h"
#include "base/text.h"
#include "base/url.h"
#include "config/redact.h"
#include "oci/signature.h"
#include "registry/oci_copy.h"

namespace mist::registry {
namespace {

std::string canonical_name(const oci::Repository& repository) {
  return repository.identity().substr(oci::kScheme.size());
}

// "oci-layout:/media/mirror, a mirror of registry.example"
std::string mirror_text(const OciPlace& place, const std::string& prefix) {
  return fmt::format("{}, a mirror of {}", escape_controls(place.str()), prefix);
}

// "oci://registry.example/team/shop:1.4.0", or with a digest.
std::string reference_name(const oci::Repository& repository, const std::string& tag) {
  return fmt::format("{}{}{}", repository.str(), tag.find(':') == std::string::npos ? ":" : "@",
                     escape_controls(tag));
}

std::string repository_name(const OciPlace& place, const oci::Repository& repository) {
  return fmt::format("{} {}", place.str(), repository.identity());
}

// No link that anybody reads packages through is slower.
constexpr std::uint64_t kSlowestBytesPerSecond = std::uint64_t{64} << 10;

// A mirror can't be used; not that the caller stopped, or has no time left.
template <typename T>
bool is_mirrors_failure(const Result<T>& asked) {
  return !asked && asked.error().template detail<NamesMirror>() != nullptr;
}

}  // namespace

Result<std::string> parse_mirror_prefix(std::string_view text) {
  const std::string_view bare = text.substr(text.starts_with(oci::kScheme) ? oci::kScheme.size() : 0);
  if (is_url(bare) || bare.empty())
    return error(ErrorKind::Invalid, "\"{}\" names no OCI registry", shown_url(text))
        .with_hint("write its host, or the host and a path: registry.example/team");
  MIST_TRY(const std::string prefix, oci::parse_prefix(fmt::format("{}{}", oci::kScheme, bare)));
  const std::string_view name = std::string_view(prefix).substr(oci::kScheme.size());
  const auto slash = std::min(name.find('/'), name.size());
  return oci::canonical_host(name.substr(0, slash)) + std::string(name.substr(slash));
}

Result<std::unique_ptr<MirroredSource>> MirroredSource::make(OciSource& registries,
                                                             const std::vector<config::Mirror>& mirrors,
                                                             Dependencies dependencies) {
  std::vector<Mirror> all;
  for (const config::Mirror& each : mirrors) {
    const std::string frame = fmt::format("while reading the mirrors of {}", escape_controls(each.prefix));
    Mirror mirror{.prefix = {}, .places = {}, .only = each.only};
    MIST_TRY(mirror.prefix, parse_mirror_prefix(each.prefix).in(frame));
    for (const std::string& text : each.places) {
      MIST_TRY(OciPlace place, OciPlace::parse(text).in(frame));
      if (place.kind != OciPlace::Kind::Registry && place.path.is_relative())
        place.path = (dependencies.base / place.path).lexically_normal();
      mirror.places.push_back(std::move(place));
    }
    all.push_back(std::move(mirror));
  }
  return std::unique_ptr<MirroredSource>(
      new MirroredSource(registries, std::move(all), std::move(dependencies)));
}

// The longest prefix counts.
const MirroredSource::Mirror* MirroredSource::mirror_of(const oci::Repository& repository) const {
  const std::string name = canonical_name(repository);
  const Mirror* found = nullptr;
  for (const Mirror& each : mirrors_) {
    const bool fits = name == each.prefix || name.starts_with(each.prefix + "/");
    if (fits && (found == nullptr || each.prefix.size() > found->prefix.size())) found = &each;
  }
  return found;
}

MirroredSource::Places MirroredSource::places_of(const oci::Repository& repository) const {
  const Mirror* const mirror = mirror_of(repository);
  if (mirror == nullptr) return Places::Original;
  return mirror->only ? Places::MirrorsOnly : Places::MirrorsFirst;
}

// A layout has the original names; in a registry the place stands for the prefix.
Result<oci::Repository> MirroredSource::repository_at(const OciPlace& place, const Mirror& mirror,
                                                      const oci::Repository& repository) {
  if (place.kind != OciPlace::Kind::Registry) return repository;
  return oci::Repository::parse(place.prefix + canonical_name(repository).substr(mirror.prefix.size()));
}

Result<OciSource*> MirroredSource::open(const OciPlace& place) {
  if (place.kind == OciPlace::Kind::Registry) return &registries_;
  const std::string name = place.str();
  const std::lock_guard guard(mutex_);
  if (const auto known = layouts_.find(name); known != layouts_.end()) return known->second.get();
  MIST_TRY(std::unique_ptr<LayoutFiles> files, layout_at(dependencies_.files, place));
  MIST_TRY(std::unique_ptr<LayoutReader> reader, LayoutReader::open(std::move(files), escape_controls(name)));
  return layouts_.emplace(name, std::move(reader)).first->second.get();
}

bool MirroredSource::has_answered(const OciPlace& place) {
  if (place.kind != OciPlace::Kind::Registry) return true;
  const std::lock_guard guard(mutex_);
  return answered_.contains(place.str());
}

void MirroredSource::note_answer(const OciPlace& place) {
  const std::lock_guard guard(mutex_);
  answered_.insert(place.str());
}

std::optional<Error> MirroredSource::why_away(const OciPlace& place, const oci::Repository& repository) {
  const std::lock_guard guard(mutex_);
  auto found = away_.find(place.str());
  if (found == away_.end()) found = away_.find(repository_name(place, repository));
  return found == away_.end() ? std::nullopt : std::optional(found->second);
}

// Said once; the place isn't asked again by this program. One that refuses a repository may allow others.
void MirroredSource::complain(const OciPlace& place, const Mirror& mirror, const oci::Repository& repository,
                              const Error& failure, const std::string& why) {
  const bool is_refused = failure.kind == ErrorKind::Forbidden;
  {
    const std::lock_guard guard(mutex_);
    if (!away_.emplace(is_refused ? repository_name(place, repository) : place.str(), failure).second) return;
  }
  dependencies_.events.warn(
      fmt::format("{}, can't be used: {}", mirror_text(place, mirror.prefix), escape_controls(why)));
}

Error MirroredSource::not_mirrored(const Mirror& mirror, std::string_view what) {
  std::vector<std::string> places;
  for (const OciPlace& each : mirror.places) places.push_back(escape_controls(each.str()));
  return error(ErrorKind::NotFound, "there is no {} in the mirrors of {}", what, mirror.prefix)
      .with_because(fmt::format("they are {}, and the configuration allows only them", join(places, ", ")))
      .with_hint("mistctl mirror copies it there; without `only: true` the registry itself is asked");
}

template <typename T>
Result<std::optional<T>> MirroredSource::from_mirrors(
    const Question& question,
    const std::function<Result<T>(OciSource&, const oci::Repository&, const Context&)>& ask,
    const std::function<bool(const OciPlace&, T&)>& is_it, const Context& context) {
  const Mirror& mirror = question.mirror;
  const std::uint64_t seconds = std::min(question.bytes, kMaxCopiedBlob) / kSlowestBytesPerSecond;
  const Duration first_answer = dependencies_.first_answer + std::chrono::seconds(seconds);
  std::optional<Error> failure;
  const auto failed = [&](const OciPlace& place, Error why) {
    failure = std::move(why)
                  .with_frame(fmt::format("while reading {} from {}", question.name,
                                          mirror_text(place, mirror.prefix)))
                  .with_detail(NamesMirror{});
  };
  for (const OciPlace& place : mirror.places) {
    if (std::optional<Error> before = why_away(place, question.repository)) {
      failed(place, *std::move(before));
      continue;
    }
    // Without another place to ask, a slow one is better than none.
    const bool is_last = mirror.only && &place == &mirror.places.back();
    const bool is_limited = !is_last && !has_answered(place);
    const Context within = is_limited ? context.with_timeout(first_answer) : context;
    const auto from_place = [&]() -> Result<T> {
      MIST_TRY(OciSource* const source, open(place));
      MIST_TRY(const oci::Repository there, repository_at(place, mirror, question.repository));
      return ask(*source, there, within);
    };
    Result<T> found = from_place();
    if (found) note_answer(place);
    if (found && is_it(place, *found)) return std::optional<T>(*std::move(found));
    if (found) continue;
    if (const Status ended = context.check(); !ended) return std::move(found).error();
    const bool lacks_it = found.error().kind == ErrorKind::NotFound &&
                          (place.kind == OciPlace::Kind::Registry || open(place).ok());
    if (lacks_it) {
      note_answer(place);
      continue;
    }
    const bool is_silent = is_limited && found.error().kind == ErrorKind::Timeout;
    complain(place, mirror, question.repository, found.error(),
             is_silent ? fmt::format("it has not answered for {}", format_elapsed(first_answer))
                       : found.error().to_line());
    failed(place, std::move(found).error());
  }
  if (failure && mirror.only) return *std::move(failure);
  return std::optional<T>();
}

namespace {

std::string held_name(const OciPlace& place, const oci::Repository& repository,
                      const crypto::Digest& manifest) {
  return fmt::format("{}@{}", repository_name(place, repository), manifest.str());
}

}  // namespace

void MirroredSource::note_held(const OciPlace& place, const oci::Repository& repository,
                               const crypto::Digest& manifest) {
  const std::lock_guard guard(mutex_);
  held_.insert(held_name(place, repository, manifest));
}

bool MirroredSource::is_held(const Mirror& mirror, const oci::Repository& repository,
                             const crypto::Digest& manifest) {
  const std::lock_guard guard(mutex_);
  return std::ranges::any_of(mirror.places, [&](const OciPlace& place) {
    return !away_.contains(place.str()) && !away_.contains(repository_name(place, repository)) &&
           held_.contains(held_name(place, repository, manifest));
  });
}

Result<std::optional<std::optional<RawManifest>>> MirroredSource::manifest_in_mirrors(
    const Mirror& mirror, const oci::Repository& repository, const std::string& tag, const Context& context) {
  using Found = std::optional<RawManifest>;
  const std::string name = reference_name(repository, tag);
  const Result<crypto::Digest> wanted = crypto::Digest::parse(tag);
  return from_mirrors<Found>(
      {mirror, repository, name},
      [&](OciSource& source, const oci::Repository& there, const Context& within) -> Result<Found> {
        MIST_TRY(Found found, source.find_manifest(there, tag, within));
        if (found && wanted) MIST_TRY_VOID(check_manifest_digest(*found, *wanted, name));
        return found;
      },
      [&](const OciPlace& place, Found& each) {
        if (!each) return false;
        note_held(place, repository, each->digest);
        each->mirror = mirror_text(place, mirror.prefix);
        return true;
      },
      context);
}

// Whether what a mirror says about the attachments of a manifest counts: it has the manifest.
Result<bool> MirroredSource::answers_for(const Mirror& mirror, const oci::Repository& repository,
                                         const crypto::Digest& manifest, const Context& context) {
  if (is_held(mirror, repository, manifest)) return true;
  MIST_TRY(const auto found, manifest_in_mirrors(mirror, repository, manifest.str(), context));
  return found.has_value();
}

OciSource* MirroredSource::behind(const oci::Repository& repository) {
  const Mirror* const mirror = mirror_of(repository);
  return mirror != nullptr && !mirror->only ? &originals() : nullptr;
}

bool MirroredSource::reads_mirrors_only(const oci::Repository& repository) {
  const Mirror* const mirror = mirror_of(repository);
  return mirror != nullptr && mirror->only;
}

Result<std::optional<RawManifest>> MirroredSource::find_manifest(const oci::Repository& repository,
                                                                 const std::string& tag,
                                                                 const Context& context) {
  const Mirror* const mirror = mirror_of(repository);
  if (mirror == nullptr) return originals().find_manifest(repository, tag, context);
  const std::optional<crypto::Digest> subject = oci::subject_of_tag(tag);
  auto asked = manifest_in_mirrors(*mirror, repository, tag, context);
  if (is_mirrors_failure(asked) && subject && is_held(*mirror, repository, *subject))
    return std::optional<RawManifest>();
  MIST_TRY(auto found, std::move(asked));
  if (found) return *std::move(found);
  if (mirror->only) return std::optional<RawManifest>();
  if (subject) {
    MIST_TRY(const bool is_answered, answers_for(*mirror, repository, *subject, context));
    if (is_answered) return std::optional<RawManifest>();
  }
  return originals().find_manifest(repository, tag, context);
}

Result<RawManifest> MirroredSource::manifest(const oci::Repository& repository, const std::string& tag,
                                             const Context& context) {
  const Mirror* const mirror = mirror_of(repository);
  if (mirror == nullptr) return originals().manifest(repository, tag, context);
  MIST_TRY(auto found, manifest_in_mirrors(*mirror, repository, tag, context));
  if (found) return **std::move(found);
  if (mirror->only) return not_mirrored(*mirror, fmt::format("{} of {}", tag, repository.str()));
  return originals().manifest(repository, tag, context);
}

Result<std::vector<oci::Descriptor>> MirroredSource::referrers(const oci::Repository& repository,
                                                               const crypto::Digest& manifest,
                                                               std::string_view artifact_type,
                                                               const Context& context) {
  const Mirror* const mirror = mirror_of(repository);
  if (mirror == nullptr) return originals().referrers(repository, manifest, artifact_type, context);
  using Found = std::vector<oci::Descriptor>;
  auto asked = from_mirrors<Found>(
      {*mirror, repository, reference_name(repository, manifest.str())},
      [&](OciSource& source, const oci::Repository& there, const Context& within) {
        return source.referrers(there, manifest, artifact_type, within);
      },
      [](const OciPlace&, Found& each) { return !each.empty(); }, context);
  if (is_mirrors_failure(asked) && is_held(*mirror, repository, manifest)) return Found();
  MIST_TRY(std::optional<Found> found, std::move(asked));
  if (found) return *std::move(found);
  if (mirror->only) return Found();
  MIST_TRY(const bool is_answered, answers_for(*mirror, repository, manifest, context));
  return is_answered ? Found() : originals().referrers(repository, manifest, artifact_type, context);
}

Result<std::string> MirroredSource::blob(const oci::Repository& repository, const oci::Descriptor& descriptor,
                                         std::uint64_t limit, const Context& context) {
  const Mirror* const mirror = mirror_of(repository);
  if (mirror == nullptr) return originals().blob(repository, descriptor, limit, context);
  MIST_TRY(std::optional<std::string> found,
           from_mirrors<std::string>(
               {*mirror, repository, reference_name(repository, descriptor.digest.str()), descriptor.size},
               [&](OciSource& source, const oci::Repository& there, const Context& within) {
                 return source.blob(there, descriptor, limit, within);
               },
               [](const OciPlace&, std::string&) { return true; }, context));
  if (found) return *std::move(found);
  if (mirror->only)
    return not_mirrored(*mirror, fmt::format("{} of {}", descriptor.digest.str(), repository.str()));
  return originals().blob(repository, descriptor, limit, context);
}

Result<std::vector<std::string>> MirroredSource::tags(const oci::Repository& repository,
                                                      const Context& context) {
  return enough_tags(repository, [](const std::vector<std::string>& tags) { return !tags.empty(); }, context);
}

Result<std::vector<std::string>> MirroredSource::enough_tags(const oci::Repository& repository,
                                                             const EnoughTags& is_enough,
                                                             const Context& context) {
  const Mirror* const mirror = mirror_of(repository);
  if (mirror == nullptr) return originals().tags(repository, context);
  using Found = std::vector<std::string>;
  std::optional<Found> last;
  MIST_TRY(std::optional<Found> found, from_mirrors<Found>(
                                           {*mirror, repository, repository.str()},
                                           [&](OciSource& source, const oci::Repository& there,
                                               const Context& within) { return source.tags(there, within); },
                                           [&](const OciPlace&, Found& each) {
                                             last = each;
                                             return is_enough(each);
                                           },
                                           context));
  if (found) return *std::move(found);
  if (!mirror->only) return originals().tags(repository, context);
  if (last) return *std::move(last);
  return not_mirrored(*mirror, fmt::format("repository {}", repository.str()));
}

}  // namespace mist::registry
