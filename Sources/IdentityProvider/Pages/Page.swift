import Crypto
import HTTPTypes
import Hummingbird
import NIOCore
import TextFormats

/// An HTML page of sign-in.
struct Page {
    var title: String
    /// HTML.
    var body: String
    /// JavaScript; nil for a page without.
    var script: String?
    /// Scripts of other sites that the page loads.
    var foreignScripts: [String] = []
    /// The sites that may show the page in a frame: `frame-ancestors`.
    var ancestors = "'none'"
    var status: HTTPResponse.Status = .ok
    /// The sites, beside this one, that forms lead to.
    var formTargets: [String] = []

    /// A page that says what is wrong.
    static func failure(_ text: String, hint: String, status: HTTPResponse.Status = .badRequest) -> Response {
        let body = "<h1>\(escaped(text))</h1><p class=\"hint\">\(escaped(hint))</p>"
        return Page(title: text, body: body, status: status).response
    }

    var response: Response {
        var html = """
            <!DOCTYPE html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(Self.escaped(title))</title>
            <style>\(Self.style)</style>
            <main>
            \(body)
            </main>

            """
        if let script { html += "<script>\(script)</script>\n" }
        for address in foreignScripts { html += "<script src=\"\(address)\"></script>\n" }
        return Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
                .contentSecurityPolicy: policy, .xContentTypeOptions: "nosniff",
                // With `no-referrer` browsers send the page's own form with `Origin: null`, as a page of another site
                // can: in development that is refused.
                HTTPField.Name("Referrer-Policy") ?? .referer: "same-origin",
            ],
            body: .init(byteBuffer: ByteBuffer(string: html)))
    }

    /// Nothing but what the page itself has, by its hash.
    private var policy: String {
        var scripts = script.map { ["'\(Self.hash($0))'"] } ?? []
        // gapi.iframes loads more of itself, from these two.
        if !foreignScripts.isEmpty { scripts += ["https://apis.google.com", "https://www.gstatic.com"] }
        return [
            "default-src 'none'", "style-src '\(Self.hash(Self.style))'",
            "script-src \(scripts.isEmpty ? "'none'" : scripts.joined(separator: " "))",
            "frame-src \(foreignScripts.isEmpty ? "'none'" : "https:")",
            "form-action \((["'self'"] + formTargets).joined(separator: " "))", "base-uri 'none'",
            "frame-ancestors \(ancestors)",
        ].joined(separator: "; ")
    }

    private static func hash(_ text: String) -> String {
        "sha256-" + Base64.encode(Array(SHA256.hash(data: Array(text.utf8))))
    }

    /// A text as HTML, also within quotes.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        // Not by characters: a mark before or after one of these makes another character of both.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static let style = """
        body { font: 16px/1.5 system-ui, sans-serif; margin: 0; background: #f4f4f5; color: #18181b }
        main { max-width: 26rem; margin: 10vh auto; padding: 2rem; background: #fff; border-radius: 8px }
        h1 { font-size: 1.25rem; margin: 0 0 1rem }
        label { display: block; margin: .75rem 0 .25rem }
        input { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; border: 1px solid #a1a1aa; border-radius: 4px }
        button { font: inherit; padding: .5rem 1rem; margin-top: 1rem; border: 0; border-radius: 4px; background: #1d4ed8; color: #fff; cursor: pointer }
        ul { list-style: none; padding: 0 }
        li button { width: 100%; text-align: left; background: #e4e4e7; color: inherit; margin-top: .5rem }
        .hint { color: #52525b; font-size: .875rem }
        """
}

extension HTTPField.Name {
    fileprivate static let xContentTypeOptions = Self("X-Content-Type-Options") ?? .contentType
}
