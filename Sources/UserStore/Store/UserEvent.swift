import DocumentModel
import StrictJSON

/// The events of users, as Google's Eventarc has them (`google.firebase.auth.user.v1`).
package enum UserEvent {
    package static let created = "google.firebase.auth.user.v1.created"
    package static let deleted = "google.firebase.auth.user.v1.deleted"

    /// An event without its subject and data.
    static func outline(_ type: String, project: String) -> CloudEvent {
        CloudEvent(type: type, source: "//firebaseauth.googleapis.com/projects/\(project)")
    }

    static func fill(_ event: inout CloudEvent, with user: UserRecord) {
        event.subject = "users/\(user.uid)"
        event.dataContentType = "application/json"
        event.data = (try? JSONValue.object(data(of: user)).serialized()) ?? []
    }

    /// `AuthEventData` of google.events.firebase.auth.v1.
    private static func data(of user: UserRecord) -> JSONObject {
        var data: JSONObject = [
            "uid": .string(user.uid), "emailVerified": .bool(user.isEmailVerified), "disabled": .bool(user.isDisabled),
        ]
        data["email"] = user.email.map(JSONValue.string)
        data["displayName"] = user.displayName.map(JSONValue.string)
        data["photoURL"] = user.photoURL.map(JSONValue.string)
        data["phoneNumber"] = user.phoneNumber.map(JSONValue.string)
        data["customClaims"] = user.claims.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
        var metadata: JSONObject = ["createTime": .string(Timestamp(milliseconds: user.createdAt).rfc3339)]
        metadata["lastSignInTime"] = user.lastSignInAt.map { .string(Timestamp(milliseconds: $0).rfc3339) }
        data["metadata"] = .object(metadata)
        let providers = user.providerData
        if !providers.isEmpty { data["providerData"] = .array(providers.map(JSONValue.object)) }
        return data
    }
}

extension UserRecord {
    fileprivate var providerData: [JSONObject] {
        var data = identities.map { identity in
            var entry: JSONObject = ["providerId": .string(identity.provider), "uid": .string(identity.rawID)]
            entry["email"] = identity.email.map(JSONValue.string)
            entry["displayName"] = identity.displayName.map(JSONValue.string)
            entry["photoURL"] = identity.photoURL.map(JSONValue.string)
            return entry
        }
        if let email, hasEmailProvider {
            data.append(["providerId": "password", "uid": .string(email), "email": .string(email)])
        }
        if let phoneNumber { data.append(["providerId": "phone", "uid": .string(phoneNumber)]) }
        return data
    }
}
