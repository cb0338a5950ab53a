#include "operator/log_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace mist::operator_ {

std::string label_of(const Item& item) {
  return item.is_blueprint()
             ? item.blueprint
             : fmt::format("{} {}/{}", item.blueprint, item.instance.first, item.instance.second);
}

MessageFields fields_of(const Item& item, Named named) {
  const bool in_text = named == Named::Yes;
  MessageFields fields{{"blueprint", item.blueprint, in_text}};
  if (item.is_blueprint()) return fields;
  fields.push_back({"namespace", item.instance.first, in_text});
  fields.push_back({"instance", item.instance.second, in_text});
  return fields;
}

MessageFields fields_of(const ObjectId& id) {
  return {{"object", id.display()}, {"kind", id.kind}, {"name", id.name}};
}

MessageFields fields_of(const Item& item, Named named, const ObjectId& id) {
  MessageFields fields = fields_of(item, named), object = fields_of(id);
  std::ranges::move(object, std::back_inserter(fields));
  return fields;
}

}  // namespace mist::operator_
