public import StrictJSON

/// A message of Firebase Cloud Messaging.
public struct Message: Encodable, Sendable {
    /// What the system shows when the app is in the background.
    public struct Notification: Encodable, Sendable {
        public var title: String?
        public var body: String?
        /// The URL of an image.
        public var image: String?

        public init(title: String? = nil, body: String? = nil, image: String? = nil) {
            self.title = title
            self.body = body
            self.image = image
        }
    }

    /// The registration token of the app on the device that the message is for.
    public let token: String?
    /// The topic whose subscribers the message is for, without `/topics/`.
    public let topic: String?
    /// The combination of topics whose subscribers the message is for: `'dogs' in topics || 'cats' in topics`.
    public let condition: String?
    public var notification: Notification?
    /// What the app receives. At most 4096 bytes with the notification.
    public var data: [String: String]?
    /// `AndroidConfig`, `ApnsConfig` and `WebpushConfig` as the REST API's reference has them:
    /// `["payload": ["aps": ["sound": "default", "badge": 3]]]`.
    public var android: JSONValue?
    public var apns: JSONValue?
    public var webpush: JSONValue?

    private init(
        token: String? = nil, topic: String? = nil, condition: String? = nil, _ notification: Notification?,
        _ data: [String: String]?, _ android: JSONValue?, _ apns: JSONValue?, _ webpush: JSONValue?
    ) {
        self.token = token
        self.topic = topic
        self.condition = condition
        self.notification = notification
        self.data = data
        self.android = android
        self.apns = apns
        self.webpush = webpush
    }

    /// A message for one device.
    public init(
        token: String, notification: Notification? = nil, data: [String: String]? = nil, android: JSONValue? = nil,
        apns: JSONValue? = nil, webpush: JSONValue? = nil
    ) {
        self.init(token: token, notification, data, android, apns, webpush)
    }

    /// A message for all subscribers of a topic.
    public init(
        topic: String, notification: Notification? = nil, data: [String: String]? = nil, android: JSONValue? = nil,
        apns: JSONValue? = nil, webpush: JSONValue? = nil
    ) {
        self.init(topic: topic, notification, data, android, apns, webpush)
    }

    /// A message for the subscribers that a condition names.
    public init(
        condition: String, notification: Notification? = nil, data: [String: String]? = nil,
        android: JSONValue? = nil, apns: JSONValue? = nil, webpush: JSONValue? = nil
    ) {
        self.init(condition: condition, notification, data, android, apns, webpush)
    }
}
