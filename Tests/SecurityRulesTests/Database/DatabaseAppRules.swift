/// Rules of several apps: a chat, a staff directory, posts, and what shows one feature each.
enum DatabaseAppRules {
    static let text = #"""
        {
          // of several apps
          "rules": {
            ".read": false,
            "open": {
              ".read": true, ".write": true,
              "dinosaurs": { ".indexOn": ["height", "about/order"] },
              "scores": { ".indexOn": ".value" },
              "ranked": { ".indexOn": ["points"] }
            },
            /* of each user */
            "private": { "$uid": { ".read": "$uid === auth.uid", ".write": "$uid === auth.uid" } },
            "cascade": { ".read": true, "secret": { ".read": false, ".write": "auth != null" } },
            "widgets": {
              ".read": true, ".write": true,
              "$id": {
                ".validate": "newData.hasChildren(['color', 'size'])",
                "color": { ".validate": "newData.isString() && newData.val().matches(/^(red|green|blue)$/i)" },
                "size": { ".validate": "newData.isNumber() && newData.val() >= 0 && newData.val() <= 99" },
                "$other": { ".validate": false }
              }
            },
            "append": { ".read": true, "$id": { ".write": "!data.exists() && newData.exists()" } },
            "stamped": { ".read": true, ".write": true, "$id": { ".validate": "newData.val() == now" } },
            "likes": { ".read": true, "$post": { "$uid": {
              ".write": "$uid === auth.uid",
              ".validate": "newData.isBoolean() && newData.parent().parent().parent().child('counts/' + $post).val() == root.child('counts/' + $post).val() + 1" } } },
            "counts": { ".read": true, "$post": { ".write": "auth != null && newData.isNumber()" } },
            "paged": { ".read": "query.orderByKey && query.limitToFirst <= 10", ".write": true },
            "mine": { ".indexOn": "owner", ".read": "query.orderByChild == 'owner' && query.equalTo == auth.uid", ".write": "auth != null" },
            "fails": { ".read": "auth.missing.length > 1 || true" },
            "shortens": { ".read": "true || auth.missing.length > 1" },
            "strings": { "$word": { ".read": "$word.length == 5 && $word.beginsWith('a') && $word.endsWith('e') && $word.contains('ppl') && $word.replace('p', 'b') == 'abble' && $word.toUpperCase() == 'APPLE'" } },
            "mailbox": { ".read": "auth.token.email == 'taro@example.com' && auth.token.firebase.sign_in_provider == 'password'" },
            "presence": { ".read": true, "$uid": { ".write": "$uid === auth.uid" } },
            "users": { ".indexOn": "facebookId", ".read": "auth != null", ".write": "auth != null" },
            "rooms": { ".read": "auth != null", ".write": "auth != null" },
            "chats": { ".indexOn": "roomId", ".read": "auth != null", ".write": "auth != null" },
            "posts": { ".read": true, ".write": "auth != null" },
            "user-posts": { ".read": true, "$uid": { ".write": "$uid === auth.uid" } }
          }
        }
        """#

    static let staff = #"""
        {
          "rules": {
            ".read": false,
            ".write": false,
            "users" : { "$uid": { ".read": "auth.token != null && $uid === auth.uid" } }
          }
        }
        """#
}
