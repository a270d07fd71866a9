import TextFormats

/// What a file's name says about its content.
enum FileContentType {
    /// `application/octet-stream` for an unknown ending.
    static func of(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return unknown }
        return types[name[name.index(after: dot)...].lowercased()] ?? unknown
    }

    private static let unknown = "application/octet-stream"

    private static let types = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
        "json": "application/json; charset=utf-8", "map": "application/json; charset=utf-8",
        "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "ics": "text/calendar; charset=utf-8", "xml": "application/xml; charset=utf-8", "svg": "image/svg+xml",
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "avif": "image/avif", "heic": "image/heic", "ico": "image/vnd.microsoft.icon", "bmp": "image/bmp",
        "tif": "image/tiff", "tiff": "image/tiff", "mp3": "audio/mpeg", "m4a": "audio/mp4", "wav": "audio/wav",
        "ogg": "audio/ogg", "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm",
        "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf", "pdf": "application/pdf",
        "zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar", "wasm": "application/wasm",
        "webmanifest": "application/manifest+json",
    ]

    /// The value of `Content-Disposition` (RFC 6266). Clients that don't know the second form get `_` for other letters.
    static func attachment(_ name: String) -> String {
        // By scalars: with a mark beside it, one of these is a part of another character. No header has control characters.
        func replaced(_ text: String, where isBad: (UnicodeScalar) -> Bool) -> String {
            String(String.UnicodeScalarView(text.unicodeScalars.map { isBad($0) ? "_" : $0 }))
        }
        let name = replaced(name) { $0 == "/" || $0.value < 32 || $0.value == 127 }
        let ascii = replaced(name) { !$0.isASCII || $0 == "\"" || $0 == "\\" }
        let encoded = PercentEncoding.encoded(name)
        return "attachment; filename=\"\(ascii)\"" + (ascii == name ? "" : "; filename*=UTF-8''\(encoded)")
    }
}
