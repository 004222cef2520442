#pragma once
// Label and field selectors, as the query parameters of a list or watch spell them.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kindlb::apiserver {

class LabelSelector {
 public:
  /// "app=echo,tier!=db,zone in (a,b),canary,!legacy"
  static ApiResult<LabelSelector> parse(std::string_view text);
  /// Every pair of this map must be there.
  static LabelSelector of_map(const Json& labels);

  bool empty() const { return requirements_.empty(); }
  bool matches(const Json& labels) const;

 private:
  enum class Operator { In, NotIn, Exists, Absent };
  struct Requirement {
    std::string key;
    Operator op = Operator::Exists;
    std::vector<std::string> values;
  };
  static ApiResult<Requirement> parse_one(std::string_view text);
  static bool holds(const Requirement& requirement, const Json& labels);

  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  /// "metadata.name=x,involvedObject.kind!=Service"; only fields that the real server selects by.
  static ApiResult<FieldSelector> parse(std::string_view text, const Resource& resource);

  bool empty() const { return terms_.empty(); }
  bool matches(const Json& object) const;

 private:
  struct Term {
    std::vector<std::string> path;
    std::string value;
    bool equal = true;
  };
  std::vector<Term> terms_;
};

}  // namespace kindlb::apiserver
