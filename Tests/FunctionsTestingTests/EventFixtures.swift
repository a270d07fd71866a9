import FunctionsRuntime

/// Functions that trigger each other.
struct EventFixtures: FunctionBundle {
    var functions: [Function] {
        onCall("buy") { (request: CallableRequest<Int>, transaction) in
            let order = transaction.firestore.document("orders/o1")
            try transaction.enqueue(Order(id: "o1"), to: "sendReceipt", options: TaskOptions(id: "receipt-o1"))
            try transaction.publish(
                try CloudEvent(
                    type: "shop.order.paid", source: "//shop", attributes: ["shop": "tokyo"], json: Order(id: "o1")))
            try transaction.publish(json: Order(id: "o1"), to: "orders")
            guard try await !transaction.getDocument(order).exists else { throw HttpsError(.alreadyExists, "Sold.") }
            try transaction.setData(["amount": request.data], forDocument: order)
            if request.data == 0 { throw HttpsError(.invalidArgument, "Nothing costs nothing.") }
        }
        onDocumentCreated("recordSale", document: "orders/{id}", .retry()) { (event, transaction) in
            let sales = transaction.firestore.document("sales/all")
            let sum = try await transaction.getDocument(sales)["amount"]
            var amount: Int64 = 0
            if case .integer(let known)? = sum { amount += known }
            if case .integer(let more)? = event.data["amount"] { amount += more }
            try transaction.setData(["amount": amount], forDocument: sales)
        }
        onTaskDispatched("sendReceipt", .retry(.exponential(from: .seconds(5), attempts: 2))) {
            (request: TaskRequest<Order>) in
            if request.data.id == "bad" { throw HttpsError(.unavailable, "No mail.") }
            if request.data.id.hasPrefix("cancels ") {
                return try await request.taskQueue("sendReceipt").delete(String(request.data.id.dropFirst(8)))
            }
            try await request.firestore.document("receipts/\(request.data.id)").setData(
                ["task": request.id, "retries": request.retryCount])
        }
        onCustomEventPublished("thank", type: "shop.order.paid", filters: ["shop": "tokyo"]) {
            (event: CustomEvent<Order>) in
            try await event.firestore.document("thanks/\(event.data.id)").setData(["at": event.time])
        }
        beforeUserCreated("onlyCompany") { event in
            guard event.data.email?.hasSuffix("@example.com") == true else {
                throw HttpsError(.permissionDenied, "Only for members of the company.")
            }
            return BeforeCreateResponse(
                displayName: event.additionalUserInfo?.signInMethod, customClaims: ["member": true])
        }
        beforeUserSignedIn("office") { event in BeforeSignInResponse(sessionClaims: ["ip": .string(event.ipAddress)]) }
        beforeEmailSent("noReset") { event in
            if event.emailType == "PASSWORD_RESET" { throw HttpsError(.permissionDenied, event.data.email ?? "") }
        }
        onUserCreated("welcome") { event, transaction in
            try transaction.setData(
                ["name": event.data.displayName ?? "", "type": event.type],
                forDocument: transaction.firestore.document("profiles/\(event.data.uid)"))
        }
        onUserDeleted("forget") { event in
            try await event.firestore.document("profiles/\(event.data.uid)").delete()
        }
        onMessagePublished("audit", topic: "orders") { event in
            let order = try event.data.message.json(as: Order.self)
            try await event.firestore.document("audits/\(order.id)").setData(["id": event.data.message.messageID])
        }
        // Fails as many times as the document says.
        onDocumentCreated(
            "flaky", document: "flaky/{id}",
            .retry(.exponential(from: .seconds(1), to: .seconds(3), for: .seconds(60), attempts: 4))
        ) { event in
            guard case .integer(let times)? = event.data["fails"], event.attempt > times else {
                throw HttpsError(.unavailable, "try \(event.attempt)")
            }
        }
        onDocumentCreated("fails", document: "fails/{id}") { _ in throw HttpsError(.dataLoss, "lost") }
        onDocumentCreated("neverMendable", document: "unmendable/{id}", .retry()) { _ in
            throw PermanentFailure("The order has no customer.")
        }
        onDocumentCreated("undecodable", document: "undecodable/{id}") { (_: DocumentEvent<Document<Order>>) in }
        onDocumentCreated("failsInTransaction", document: "fails/{id}", .retry()) { (event, transaction) in
            try transaction.setData(["by": "failsInTransaction"], forDocument: event.firestore.document("traces/t"))
            try transaction.enqueue(Order(id: "trace"), to: "sendReceipt")
            throw HttpsError(.dataLoss, "lost")
        }
        onDocumentWritten("ping", document: "ping/{id}") { event in
            try await event.firestore.document("pong/\(event.params["id"] ?? "")").setData(["by": event.id])
        }
        onDocumentWritten("pong", document: "pong/{id}") { event in
            try await event.firestore.document("ping/\(event.params["id"] ?? "")").setData(["by": event.id])
        }
        onDocumentWritten(
            "inOrder", document: "lines/{id}", .retry(.exponential(from: .seconds(1))), .ordering(.perDocument)
        ) { event in
            if event.data.after["stumbles"] == .boolean(true), event.attempt == 1 {
                throw HttpsError(.unavailable, "stumbled")
            }
            try await event.firestore.document("seen/s").setData(
                ["n": FieldValue.arrayUnion([event.data.after["n"] ?? .null])], merge: true)
        }
        onDocumentCreated("whoDidIt", document: "deeds/{id}") { event in
            try await event.firestore.document("doers/d").setData(
                ["type": event.authType.rawValue, "id": event.authID, "params": event.params])
        }
        onSchedule("nightly", schedule: "every day 03:00") { event in
            try await event.firestore.document("runs/\(event.jobName)").setData(["time": event.scheduleTime])
        }
    }

    struct Order: Codable, Sendable {
        var id: String
    }
}
