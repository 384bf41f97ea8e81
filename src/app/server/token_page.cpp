#include "app/server/token_page.h"

#include "core/base/digest.h"

namespace orrery::server {
namespace {

constexpr std::string_view kStyle = R"(
body { max-width: 34rem; margin: 12vh auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
form { display: flex; gap: .5rem; margin: 1rem 0; }
input { flex: 1; min-width: 0; }
input, button { font: inherit; padding: .3rem .6rem; }
)";

// A link from another site comes without the cookie (SameSite=Strict), although this browser may
// have it. The script therefore asks once more from this page and opens the console if it may.
constexpr std::string_view kScript = R"(
const note = document.getElementById('note');
const here = new URL(location.href);
if (here.searchParams.has('token')) note.textContent = 'This token is not the one of this server.';
else if (here.hash.startsWith('#design='))
  note.textContent = 'The design in this link opens afterwards.';
if (!here.searchParams.has('opened')) {
  fetch('/api/v1/session').then((answer) => {
    if (!answer.ok) return;
    here.searchParams.set('opened', '1');
    location.replace(here);
  });
}
document.querySelector('form').addEventListener('submit', (event) => {
  event.preventDefault();
  let token = document.querySelector('input').value.trim();
  let origin = here.origin;
  if (token.includes('/')) {
    try {
      const given = new URL(token);
      token = given.searchParams.get('token') ?? '';
      if (['127.0.0.1', 'localhost'].includes(given.hostname)) origin = given.origin;
    } catch {
      token = '';
    }
  }
  if (/^[\w-]+$/.test(token)) location.href = `${origin}/?token=${token}${here.hash}`;
  else note.textContent = 'This address has no token. Copy the whole address, with ?token=.';
});
)";

constexpr std::string_view kBody = R"(
<h1>This browser needs the token of the server</h1>
<p>When <code>orrery serve</code> started, it printed an address that contains a token. Open that
address in this browser, or paste it here:</p>
<form>
<input aria-label="Address that orrery serve printed" autofocus autocomplete="off"
placeholder="http://127.0.0.1:8117/?token=...">
<button>Open</button>
</form>
<p id="note" role="status"></p>
<noscript><p>Then open this link again.</p></noscript>
)";

std::string source_of(std::string_view text) { return "'sha256-" + to_base64(sha256(text)) + '\''; }

std::string policy() {
  return "default-src 'none'; script-src " + source_of(kScript) + "; style-src " +
         source_of(kStyle) +
         "; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
}

std::string page() {
  std::string text = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  text += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  text += "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Orrery: token</title>\n";
  text.append("<style>").append(kStyle).append("</style>\n</head>\n<body>").append(kBody);
  return text.append("<script>").append(kScript).append("</script>\n</body>\n</html>\n");
}

}  // namespace

Response token_page() {
  return {.status = 401,
          .content_type = "text/html; charset=utf-8",
          .body = page(),
          .headers = {{"Content-Security-Policy", policy()}}};
}

}  // namespace orrery::server
