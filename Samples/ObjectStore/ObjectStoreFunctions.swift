import FunctionsHTTPClient
import FunctionsRuntime

/// A bucket of any service with S3's protocol: `https://BUCKET.s3.REGION.amazonaws.com`, or a path of a MinIO server.
let bucketURL = defineString("BUCKET_URL")
let bucketRegion = defineString("BUCKET_REGION", default: "us-east-1")
let bucketKeyID = defineString("BUCKET_KEY_ID")
let bucketKey = defineSecret("BUCKET_KEY")

/// Stores users' files in a bucket.
@main
struct ObjectStoreFunctions: FunctionBundle {
    var params: [ParamDefinition] {
        bucketURL
        bucketRegion
        bucketKeyID
    }

    /// Not every image: an SVG may contain scripts, which run where the bucket is shown.
    private static let types: Set = ["image/png", "image/jpeg", "image/webp"]

    private static var signer: RequestSigner {
        RequestSigner(keyID: bucketKeyID.value, key: bucketKey.value, region: bucketRegion.value)
    }

    var functions: [Function] {
        // For large files: the app uploads to the bucket itself, with a URL that is valid for ten minutes.
        onCall("uploadURL", .secrets(bucketKey)) { (request: CallableRequest<Upload>) in
            let path = try Self.path(of: request.data.name, by: request.requireAuth())
            guard Self.types.contains(request.data.type), (1...50_000_000).contains(request.data.bytes) else {
                throw HttpsError(.invalidArgument, "Upload images of up to 50 MB.")
            }
            // The bucket refuses an upload of another type or size.
            return Self.signer.presignedURL(
                "PUT", bucketURL.value + path,
                headers: ["content-length": "\(request.data.bytes)", "content-type": request.data.type],
                expires: .minutes(10), at: .now)
        }

        // For small ones: a form with files, each checked on its way.
        onRequest("avatar", .secrets(bucketKey)) { request in
            let user = try request.requireAuth()
            for try await part in try request.multipart(maxParts: 5, maxPartBytes: 1_000_000) {
                guard part.name == "image", let type = part.contentType, Self.types.contains(type) else { continue }
                let path = try Self.path(of: "avatar", by: user)
                let image = Array(part.body)
                let url = bucketURL.value + path
                let headers = Self.signer.headers("PUT", url, ["Content-Type": type], body: image, at: .now)
                try await fetch(url, method: "PUT", headers: headers, body: .bytes(image)).requireSuccess()
                return try .json(["path": path])
            }
            throw HttpsError(.invalidArgument, "Send a PNG, JPEG or WebP image as the form's field \"image\".")
        }
    }

    /// Each user has a folder. A name may be any text: it is one part of the path.
    private static func path(of name: String, by user: AuthData) throws -> String {
        guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 500 else {
            throw HttpsError(.invalidArgument, "Give the file a name.")
        }
        return "/users/\(RequestSigner.encoded(user.uid))/\(RequestSigner.encoded(name))"
    }
}

struct Upload: Codable, Sendable {
    var name: String
    var type: String
    var bytes: Int
}
