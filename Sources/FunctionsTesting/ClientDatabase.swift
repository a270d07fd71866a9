import DocumentModel
public import FunctionsRuntime
import FunctionStores
import RealtimeAPI
import RealtimeModel
public import StrictJSON

/// A client of the Realtime Database, such as an app on a phone, as a test plays it: see ``FunctionsTester/database(as:)``.
///
///     let phone = try chat.database(as: .user("ada"))
///     let status = phone.reference(withPath: "status/ada")
///     try await phone.onDisconnectSetValue("offline", at: status)
///     try await status.setValue("online")
///     await phone.disconnect()
///     try await chat.deliverAll()        // what a trigger makes of "offline"
///
/// References have what those of functions have; what a client can't do there is refused by the rules.
public struct ClientDatabase: Sendable {
    private let database: Database
    private let client: DatabaseClient

    init(_ database: Database, _ client: DatabaseClient) {
        self.database = database
        self.client = client
    }

    /// The root.
    public func reference() -> DatabaseReference { database.reference() }

    /// - Parameter path: keys joined by slashes.
    public func reference(withPath path: String) -> DatabaseReference { database.reference(withPath: path) }

    /// Sets a value once the client disconnects. The rules decide now, and again then.
    public func onDisconnectSetValue(_ value: JSONValue?, at reference: DatabaseReference) async throws(DocumentError) {
        try await client.onDisconnect(.write(try reference.set(value).write()))
    }

    /// Changes some children once the client disconnects.
    public func onDisconnectUpdateChildValues(
        _ values: [String: JSONValue?], at reference: DatabaseReference
    ) async throws(DocumentError) {
        try await client.onDisconnect(.write(try reference.update(values).write()))
    }

    /// Removes what exists once the client disconnects.
    public func onDisconnectRemoveValue(at reference: DatabaseReference) async throws(DocumentError) {
        try await onDisconnectSetValue(nil, at: reference)
    }

    /// Forgets what is to happen at a reference and below it.
    public func cancelDisconnectOperations(at reference: DatabaseReference) async throws(DocumentError) {
        try await client.onDisconnect(.cancel(try reference.set(nil).write().targets[0]))
    }

    /// Loses the connection: what was registered for it happens, in the order of registration, and what the client observes
    /// ends. Its next call connects it again.
    public func disconnect() async { await client.disconnect() }
}

extension FunctionsTester {
    /// The Realtime Database, as a client has it that has just connected: under the rules that the tester was given, and
    /// events have the user's `authType` and `authId`.
    ///
    ///     let tester = try FunctionsTester(ChatFunctions(), databaseRules: "database.rules.json")
    ///     let ada = try tester.database(as: .user("ada"))
    ///     try await ada.reference(withPath: "users/ada/name").setValue("Ada")
    ///     await #expect(throws: DocumentError.self) {
    ///         try await ada.reference(withPath: "users/bob/name").setValue("Ada")
    ///     }
    ///
    /// The message of a refusal says which rules were tried and what they were, with their lines and columns.
    ///
    /// - Throws: ``TestError`` if no token could be the caller's.
    public func database(as caller: TestCaller) throws -> ClientDatabase {
        let client = try databaseClient(of: caller)
        return ClientDatabase(Database(transport: transport(of: client)), client)
    }
}
