import FunctionsMessaging
import FunctionsRuntime

/// The JSON file of a service account with the role Firebase Cloud Messaging API Admin.
let pushAccount = defineSecret("PUSH_ACCOUNT")
let pushURL = defineString("PUSH_URL", default: "https://fcm.googleapis.com")

/// Notifies users' devices with Firebase Cloud Messaging.
@main
struct PushFunctions: FunctionBundle {
    var params: [ParamDefinition] { pushURL }

    var functions: [Function] {
        // A task for each device: one that fails is retried, and the others aren't notified twice.
        onDocumentCreated("notifyFollowed", document: "users/{user}/followers/{follower}", .retry()) {
            (event: DocumentEvent<Document<Follower>>, transaction) in
            let devices = event.firestore.collection("users").document(try event.parameter("user")).collection(
                "devices")
            for device in try await transaction.getDocuments(devices) {
                let push = Push(
                    device: device.reference.path, title: "You have a new follower",
                    body: "\(event.data.data.name) follows you.")
                try transaction.enqueue(push, to: "sendPush")
            }
        }

        onTaskDispatched(
            "sendPush", .secrets(pushAccount),
            .retry(.exponential(from: .seconds(10), to: .hours(1), for: .days(1), attempts: 50))
        ) { (request: TaskRequest<Push>) in
            let messaging = try Messaging(account: pushAccount.value, url: pushURL.value)
            let device = request.firestore.document(request.data.device)
            let notification = Message.Notification(title: request.data.title, body: request.data.body)
            do {
                try await messaging.send(Message(token: device.documentID, notification: notification))
            } catch let error as MessagingError where error.code == .unregistered {
                // The app was uninstalled.
                try await device.delete()
            } catch let error as MessagingError where error.code == .invalidArgument || error.code == .senderIDMismatch
            {
                throw PermanentFailure("\(error)")
            }
        }
    }
}

struct Follower: Codable, Sendable {
    var name: String
}

struct Push: Codable, Sendable {
    /// The path of the device's document, whose id is its registration token.
    var device: String
    var title: String
    var body: String
}
