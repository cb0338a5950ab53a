#include "cli/wanted_release.h"

#include "action/examine.h"

namespace mist::cli {
namespace {

// The revision whose package and values the release has: the deployed one, or what a first install tried.
const release::Revision* stored(const action::ReleaseState& state) {
  if (state.deployed) return &*state.deployed;
  return state.unfinished.empty() ? nullptr : &state.unfinished.back();
}

}  // namespace

Status WantedRelease::prepare() {
  MIST_TRY(choices_, render_choices(invocation_, world_));
  if (has_values(invocation_)) {
    MIST_TRY(given_, read_values(invocation_, world_));
  }
  if (invocation_.has("package")) {
    MIST_TRY(source_, fetch_package(world_, invocation_.text("package"), invocation_.text("engine")));
  }
  MIST_TRY(renderer_, open_renderer(invocation_, world_));
  return {};
}

Result<action::RenderedRelease> WantedRelease::render(const action::ReleaseState& state) {
  const release::Revision* revision = stored(state);
  if (!source_) {
    if (revision == nullptr)
      return error(ErrorKind::Usage, "release {} has no package yet", state.id.display())
          .with_hint("name it with -p PACKAGE");
    const std::string engine =
        invocation_.has("engine") ? invocation_.text("engine") : revision->package.engine;
    MIST_TRY(source_, fetch_package(world_, revision->package.reference, engine));
    MIST_TRY_VOID(refuse_changed_bytes(*revision));
  }
  MIST_TRY(encoding::Value wanted, values(revision));
  return render_release(*renderer_, *source_, state, std::move(wanted), client_, world_.context, choices_);
}

Result<encoding::Value> WantedRelease::values(const release::Revision* revision) const {
  encoding::Value before = revision == nullptr || !revision->user_values.is_object()
                               ? encoding::Value::object()
                               : revision->user_values;
  if (!given_) return before;
  MIST_TRY(encoding::Value given, values_for(*source_, *given_, *world_.events));
  if (!invocation_.enabled("reuse-values")) return given;
  encoding::Value merged = before;
  encoding::merge_into(merged, given);
  return merged;
}

// A path on this machine or a branch may have other content every day; a version of a registry may not.
Status WantedRelease::refuse_changed_bytes(const release::Revision& revision) {
  const std::string& reference = source_->reference;
  if (revision.package.digest == source_->digest || reference.starts_with('/') ||
      reference.starts_with("git+"))
    return {};
  Error failure = error(ErrorKind::Conflict, "{} is not what the release was made from", reference);
  failure.because = fmt::format("its digest is {}, it was {}", source_->digest, revision.package.digest);
  failure.hint = fmt::format("if the new bytes are wanted, say so with -p {}", reference);
  return failure;
}

Result<action::Look> preview(const Invocation& invocation, World& world, const Cluster& cluster) {
  MIST_TRY(const release::ReleaseId id, release_id(invocation, *cluster.client));
  MIST_TRY(action::DeployOptions options, plan_options(invocation, id));
  WantedRelease wanted(invocation, world, *cluster.client);
  MIST_TRY_VOID(wanted.prepare());
  const auto render = [&](const action::ReleaseState& state) { return wanted.render(state); };
  MIST_TRY(action::Look look,
           action::look(cluster.environment, id, action::preview_intent(render), options, world.context));
  if (const Status drawn = action::accept_drawn(cluster.environment, look); !drawn.ok())
    world.events->warn(drawn.error().to_line());
  look.rendered.again = {};  // it refers to `wanted`
  return look;
}

}  // namespace mist::cli
