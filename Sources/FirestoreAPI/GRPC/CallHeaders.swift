import NIOHPACK
import TextFormats

/// The headers of a call that mean something here, found in one pass. Names are in lower case (RFC 9113, section 8.2.1).
struct CallHeaders {
    private(set) var method = ""
    private(set) var path = ""
    private(set) var contentType = ""
    private(set) var authorization: String?
    private(set) var appCheck: String?
    /// The database, from `google-cloud-resource-prefix`.
    private(set) var resource: String?
    private(set) var timeout: String?
    /// The site of the page that sent it, if one did.
    private(set) var origin: String?
    private(set) var forwardedFor: [String] = []

    init(_ headers: HPACKHeaders) {
        // What takes long to compare isn't one of these.
        for (name, value, _) in headers where CombiningMarks.areFew(in: name) && CombiningMarks.areFew(in: value) {
            switch name {
            case ":method": method = value
            case ":path": path = value
            case "content-type": contentType = value
            case "authorization": authorization = authorization ?? value
            case PrincipalReader.appCheckHeader: appCheck = appCheck ?? value
            case "google-cloud-resource-prefix": resource = resource ?? value
            case "grpc-timeout": timeout = value
            case "origin": origin = origin ?? value
            case "x-forwarded-for": forwardedFor.append(value)
            default: break
            }
        }
    }

    /// Whether the request is a gRPC call, not gRPC-Web.
    var isGRPC: Bool {
        if contentType == "application/grpc" { return true }
        let type = contentType.lowercased()
        return type.hasPrefix("application/grpc") && !type.hasPrefix("application/grpc-web")
    }

    /// Whether the body is protobuf in gRPC's frames.
    var isCall: Bool {
        let type = contentType.prefix { $0 != ";" }
        return type == "application/grpc" || type == "application/grpc+proto"
    }
}
