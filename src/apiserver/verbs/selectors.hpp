#pragma once
// labelSelector and fieldSelector of lists and watches. Immutable values.

#include "json.hpp"
#include "schema/resources.hpp"
#include "status_error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace kindlb::apiserver {

class LabelSelector {
 public:
  /// Parse "app=echo,tier!=db,zone in (a,b),canary,!legacy"
  static ApiResult<LabelSelector> parse(std::string_view text);
  /// Select by equality, as spec.selector of a Service does.
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
  /// Parse "metadata.name=x,involvedObject.kind!=Service". Fails for fields that kube-apiserver
  /// does not select by.
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
