#include "render/drawn.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "crypto/certificate.h"
#include "render/value_paths.h"

namespace mist::render {

using apimachinery::ObjectKey;
using encoding::Value;
using release::DrawnField;
using release::Revision;

namespace {

// The lowest values of `value` that are other in, or missing from, `other`.
void differing(const Value& value, const std::string& path, const Nodes& other,
               std::vector<std::pair<std::string, const Value*>>& found) {
  const auto there = other.find(path);
  if (there != other.end() && *there->second == value) return;
  const bool both_hold_values = there != other.end() && there->second->kind() == value.kind() &&
                                (value.is_object() || value.is_array());
  if (!both_hold_values) {
    found.emplace_back(path, &value);
    return;
  }
  const std::size_t before = found.size();
  for_each_child(value, path, [&](const std::string& child, const Value& below) {
    differing(below, child, other, found);
  });
  // Only the other one has more: this one is what differs.
  if (found.size() == before) found.emplace_back(path, &value);
}

bool is_secret(const ObjectKey& key) { return key.group_kind == apimachinery::kSecret; }

// A text as its author sees it: the data of a Secret is base64 of it.
std::optional<std::string> text_of(const ObjectKey& key, std::string_view path, const Value& value) {
  if (!value.is_string()) return std::nullopt;
  std::string decoded;
  if (is_secret(key) && (path.starts_with(".data.") || path.starts_with(".data[")) &&
      base64_decode(value.as_string(), decoded))
    return decoded;
  return value.as_string();
}

std::vector<std::string> secrets_in(const std::optional<std::string>& text,
                                    const std::map<std::string, SecretString>& secrets) {
  std::vector<std::string> names;
  if (!text) return names;
  for (const auto& [name, secret] : secrets) {
    if (!secret.empty() && text->find(secret.reveal()) != std::string::npos) names.push_back(name);
  }
  return names;
}

// The part between the first and the last difference of two texts.
std::string_view fragment(std::string_view text, std::string_view other) {
  const auto [a, b] = std::ranges::mismatch(text, other);
  const auto begin = static_cast<std::size_t>(a - text.begin());
  std::size_t end = text.size();
  std::size_t other_end = other.size();
  while (end > begin && other_end > begin && text[end - 1] == other[other_end - 1]) {
    --end;
    --other_end;
  }
  return text.substr(begin, end - begin);
}

// Each secret and random byte that the deployed revision was made from is the same now, so what is computed
// of them changed for another reason.
bool same_sources(const release::Drawn& before, const release::Drawn& now) {
  if (before.unnamed || now.unnamed) return false;
  return std::ranges::all_of(before.asked, [&](const release::Asked& each) {
    return std::ranges::find(now.asked, each) != now.asked.end();
  });
}

bool is_annotation(std::string_view path) {
  return path.find(".metadata.annotations") != std::string_view::npos;
}

const Value* at(const ObjectView& objects, const ObjectKey& key, const std::string& path,
                std::map<ObjectKey, Nodes>& cache) {
  const auto object = objects.find(key);
  if (object == objects.end()) return nullptr;
  const auto nodes = cache.try_emplace(key).first;
  if (nodes->second.empty()) nodes->second = nodes_of(*object->second);
  const auto found = nodes->second.find(path);
  return found == nodes->second.end() ? nullptr : found->second;
}

// Values by object and path, for one set of objects.
class Lookup {
 public:
  explicit Lookup(const ObjectView& objects) : objects_(objects) {}
  const Value* operator()(const ObjectKey& key, const std::string& path) {
    return at(objects_, key, path, cache_);
  }

 private:
  const ObjectView& objects_;
  std::map<ObjectKey, Nodes> cache_;
};

// Whether the secrets in a field are the same, and only what is around them is not.
bool only_surroundings_changed(const DrawnField& field, const std::string& before, const std::string& now,
                               const std::optional<std::string>& with_other_seed,
                               const std::map<std::string, SecretString>& secrets) {
  constexpr std::size_t kLeastFragment = 6;  // shorter ones may be there by chance
  if (!field.secrets.empty() && std::ranges::all_of(field.secrets, [&](const std::string& name) {
        const auto secret = secrets.find(name);
        return secret != secrets.end() && before.find(secret->second.reveal()) != std::string::npos &&
               now.find(secret->second.reveal()) != std::string::npos;
      }))
    return true;
  if (!with_other_seed) return false;
  const std::string_view drawn = fragment(now, *with_other_seed);
  return drawn.size() >= kLeastFragment && before.find(drawn) != std::string::npos;
}

bool is_rotated(const RotateSecrets& rotate, const std::vector<std::string>& secrets) {
  return rotate.all || std::ranges::any_of(secrets, [&](const std::string& name) {
           return std::ranges::find(rotate.names, name) != rotate.names.end();
         });
}

}  // namespace

release::Rotations next_rotations(const Revision* deployed, const release::Rotations& tried,
                                  const RotateSecrets& rotate) {
  release::Drawn before = deployed == nullptr ? release::Drawn() : deployed->drawn;
  before.remember(tried);
  release::Rotations used = before.used();
  std::set<std::string> names(rotate.names.begin(), rotate.names.end());
  if (rotate.all) {
    names.insert(std::string());
    for (const auto& [name, number] : used) names.insert(name);
  }
  for (const std::string& name : names) before.rotations[name] = used[name] + 1;
  return before.rotations;
}

std::vector<DrawnField> drawn_fields(const DrawnRender& render, const ObjectView& other_seed) {
  std::vector<DrawnField> fields;
  for (const auto& [key, value] : render.objects) {
    const auto other = other_seed.find(key);
    if (other == other_seed.end()) {
      fields.push_back({key, ".metadata.name"});
      continue;
    }
    std::vector<std::pair<std::string, const Value*>> found;
    differing(*value, "", nodes_of(*other->second), found);
    for (const auto& [path, drawn] : found)
      fields.push_back({key, path, secrets_in(text_of(key, path, *drawn), render.secrets)});
  }
  return fields;
}

std::vector<std::string> drawn_texts(const std::vector<DrawnField>& fields, const ObjectView& objects,
                                     const ObjectView& other_seed) {
  constexpr std::size_t kLeastFragment = 6;
  std::vector<std::string> texts;
  Lookup other(other_seed);
  for (const DrawnField& field : fields) {
    const auto object = objects.find(field.key);
    if (object == objects.end() || !is_secret(field.key)) continue;
    const std::string below = other_seed.contains(field.key) ? field.path : std::string();
    for (const auto& [path, value] : nodes_of(*object->second)) {
      if (!path.starts_with(below) || !(path.starts_with(".data") || path.starts_with(".stringData")))
        continue;
      auto text = text_of(field.key, path, *value);
      if (!text) continue;
      const Value* const other_value = other(field.key, path);
      const auto other_text = other_value == nullptr ? std::nullopt : text_of(field.key, path, *other_value);
      if (other_text)
        if (const std::string_view drawn = fragment(*text, *other_text); drawn.size() >= kLeastFragment)
          texts.emplace_back(drawn);
      texts.push_back(*std::move(text));
    }
  }
  return texts;
}

std::vector<DrawnChange> drawn_changes(const Revision& deployed, const DrawnRender& render,
                                       const ObjectView& other_seed, const RotateSecrets& rotate) {
  std::vector<DrawnChange> changes;
  const ObjectView old_objects = view_of(deployed.objects);
  Lookup before(old_objects);
  Lookup now(render.objects);
  Lookup other(other_seed);
  const bool computed_alike = same_sources(deployed.drawn, render.drawn);
  for (const DrawnField& field : deployed.drawn.fields) {
    const Value* const old_value = before(field.key, field.path);
    const Value* const new_value = now(field.key, field.path);
    if (old_value == nullptr || new_value == nullptr || *old_value == *new_value || is_annotation(field.path))
      continue;
    const auto old_text = text_of(field.key, field.path, *old_value);
    const auto new_text = text_of(field.key, field.path, *new_value);
    const Value* const other_value = other(field.key, field.path);
    const auto other_text =
        other_value == nullptr ? std::nullopt : text_of(field.key, field.path, *other_value);
    if (old_text && new_text &&
        only_surroundings_changed(field, *old_text, *new_text, other_text, render.secrets))
      continue;
    if (field.secrets.empty() && computed_alike) continue;
    std::vector<std::string> secrets = field.secrets;
    if (is_rotated(rotate, secrets) || is_rotated(rotate, secrets_in(new_text, render.secrets))) continue;
    changes.push_back({field.key, field.path, std::move(secrets)});
  }
  return changes;
}

std::vector<DrawnChange> adopted_changes(const DrawnRender& render, const ObjectView& other_seed,
                                         const ObjectView& live, const RotateSecrets& rotate) {
  std::vector<DrawnChange> changes;
  Lookup now(render.objects);
  Lookup before(live);
  for (DrawnField& field : drawn_fields(render, other_seed)) {
    const bool data =
        is_secret(field.key) && (field.path.starts_with(".data.") || field.path.starts_with(".data["));
    const Value* const value = now(field.key, field.path);
    const Value* const there = before(field.key, field.path);
    if (!data || value == nullptr || there == nullptr || *value == *there ||
        is_rotated(rotate, field.secrets))
      continue;
    changes.push_back({std::move(field.key), std::move(field.path), std::move(field.secrets), true});
  }
  return changes;
}

void remove_wanted(std::vector<DrawnChange>& changes, const Revision& deployed, const ObjectView& as_before) {
  const ObjectView old_objects = view_of(deployed.objects);
  Lookup before(old_objects);
  Lookup again(as_before);
  std::erase_if(changes, [&](const DrawnChange& change) {
    const Value* const old_value = before(change.key, change.path);
    const Value* const value = again(change.key, change.path);
    return old_value != nullptr && value != nullptr && *old_value == *value;
  });
}

Status refuse_drawn_changes(const std::vector<DrawnChange>& changes, const release::ReleaseId& id) {
  if (changes.empty()) return {};
  constexpr std::size_t kMost = 20;
  std::vector<std::string> lines;
  std::set<std::string> names;
  for (const DrawnChange& change : changes) {
    names.insert(change.secrets.begin(), change.secrets.end());
    if (lines.size() == kMost) continue;
    lines.push_back(
        fmt::format("{}: {}{}", change.key.display(), escape_controls(change.path),
                    change.secrets.empty() ? "" : fmt::format(" (secret {})", join(change.secrets, ", "))));
  }
  if (changes.size() > kMost) lines.push_back(fmt::format("… and {} more", changes.size() - kMost));
  const bool adopted = std::ranges::any_of(changes, &DrawnChange::adopted);
  const bool all_known =
      std::ranges::none_of(changes, [](const DrawnChange& change) { return change.secrets.empty(); });
  std::string flags;
  if (all_known && names.size() <= 3)
    for (const std::string& name : names) flags += fmt::format(" --rotate-secrets={}", name);
  else
    flags = " --rotate-secrets";
  return error(ErrorKind::Conflict, "release {} would get other secrets in {}", id.display(),
               plural(changes.size(), "field"))
      .with_because(join(lines, "\n"))
      .with_hint(fmt::format(
          "{}; if new secrets are wanted, add{}",
          adopted
              ? "give the package the secrets that are in use as values, or leave those that hooks make as "
                "they are with --no-hooks"
              : "the package or its values gave a secret another name or form",
          flags));
}

Status check_rotated_names(const RotateSecrets& rotate, const release::Drawn& now, const Revision* deployed) {
  std::set<std::string> known(now.secrets.begin(), now.secrets.end());
  if (deployed != nullptr) known.insert(deployed->drawn.secrets.begin(), deployed->drawn.secrets.end());
  for (const std::string& name : rotate.names) {
    if (known.contains(name)) continue;
    Error failure =
        error(ErrorKind::Usage, "--rotate-secrets={}: the package asks for no secret of that name",
              escape_controls(name));
    const std::vector<std::string> names(known.begin(), known.end());
    failure.hint = names.empty() ? "it asks for none; what it draws without names, --rotate-secrets rotates"
                                 : fmt::format("it asks for {}", join(names, ", "));
    return failure;
  }
  return {};
}

std::vector<AgingCertificate> aging_certificates(const std::vector<DrawnField>& fields,
                                                 const ObjectView& objects, WallTime now) {
  std::vector<AgingCertificate> aging;
  Lookup lookup(objects);
  for (const DrawnField& field : fields) {
    const Value* const value = lookup(field.key, field.path);
    const auto text = value == nullptr ? std::nullopt : text_of(field.key, field.path, *value);
    if (!text) continue;
    for (const crypto::Certificate& certificate : crypto::certificates_in(*text)) {
      if (certificate.is_old(now))
        aging.push_back({field.key, field.path, certificate.subject, format_time(certificate.not_after),
                         now > certificate.not_after});
    }
  }
  return aging;
}

std::string to_string(const AgingCertificate& certificate) {
  return fmt::format("{}: the certificate {} in {} {}", certificate.key.display(),
                     escape_controls(certificate.subject), escape_controls(certificate.path),
                     certificate.expired ? fmt::format("ended on {}", certificate.not_after)
                                         : fmt::format("ends on {}, and two thirds of its life are over",
                                                       certificate.not_after));
}

ObjectView view_of(const std::vector<release::RenderedObject>& objects) {
  ObjectView view;
  for (const release::RenderedObject& rendered : objects)
    view.emplace(rendered.object.key(), &rendered.object.value());
  return view;
}

}  // namespace mist::render
