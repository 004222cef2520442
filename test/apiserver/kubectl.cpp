#include "apiserver/kubectl.hpp"

#include "support/servers/child.hpp"
#include "support/servers/kube_server.hpp"

#include <stdlib.h>

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace kindlb::test {

namespace fs = std::filesystem;

namespace {
/// The one of the tests, or another version.
std::string find_kubectl() {
  const char* const chosen = std::getenv("KINDLB_KUBECTL");
  return chosen != nullptr && *chosen != '\0' ? chosen : find_kube_binary("kubectl");
}
}  // namespace

Kubectl::Kubectl(const apiserver::Server& server) : binary_(find_kubectl()) {
  if (binary_.empty())
    throw std::runtime_error(
        "kubectl is neither KINDLB_KUBECTL nor in KUBEBUILDER_ASSETS or PATH: run "
        "scripts/setup-kube.sh");
  auto pattern = (fs::temp_directory_path() / "kindlb-kubectl-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  folder_ = pattern;
  std::ofstream(folder_ / "kubeconfig") << server.kubeconfig();
}

Kubectl::~Kubectl() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> Kubectl::words() const {
  return {binary_, "--kubeconfig", (folder_ / "kubeconfig").string(), "--cache-dir",
          (folder_ / "cache").string()};
}

Said Kubectl::run(std::vector<std::string> arguments) const {
  auto command = words();
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto log = folder_ / "output";
  Said said;
  {
    Child child(command, log);
    said.code = child.wait(std::chrono::seconds(60)).value_or(-1);
  }
  std::ifstream in(log);
  said.text = {std::istreambuf_iterator<char>(in), {}};
  return said;
}

std::string Kubectl::must(const std::vector<std::string>& arguments) const {
  const auto said = run(arguments);
  std::string line;
  for (const auto& word : arguments) line += " " + word;
  if (said.code != 0) FAIL("kubectl" << line << ": " << said.code << "\n" << said.text);
  return said.text;
}

std::string Kubectl::file(const std::string& name, const std::string& text) const {
  const auto path = folder_ / name;
  std::ofstream(path) << text;
  return path.string();
}

}  // namespace kindlb::test
